-- Puts jobs with --comment=colloc:TASK where colloc's plan wants them: JobSubmitPlugins=lua.
-- Runs inside slurmctld with its locks held, so the decider has a second, and it must not call Slurm.
-- Fails open: whatever goes wrong, the job goes through as it was submitted.
local DECIDE = "exec timeout -k 1 1 /usr/local/bin/colloc slurm decide -decisions /var/lib/colloc/decisions.json "
local GRES = "gres:" -- how 22.05 writes it; "gres/" since 23.11

local function decide(task)
  local pipe = io.popen(DECIDE .. "'" .. task .. "' 2>/dev/null", "r")
  if not pipe then return nil end
  local answer = pipe:read("*l") or ""
  pipe:close()
  return answer:match("^node=([%w%-%.]+) gres=([%w:_%-%.]+)$")
end

function slurm_job_submit(job, partitions, uid)
  local ok, err = pcall(function()
    local task = job.comment and job.comment:match("^colloc:([%w_%-%.%%%+~]+)$") -- nothing that a shell minds
    if not task or job.req_nodes or job.tres_per_node then return end -- the user has decided
    local node, gres = decide(task)
    if not node then return end
    job.req_nodes, job.tres_per_node = node, GRES .. gres
    job.admin_comment = "colloc:decided"
    slurm.log_info("colloc: %s goes to %s with %s", task, node, gres)
  end)
  if not ok then slurm.log_error("colloc: %s", tostring(err)) end
  return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, uid) return slurm.SUCCESS end

return slurm.SUCCESS
