-- Puts jobs with --comment=colloc:SWEEP:TASK where colloc's plan wants them: JobSubmitPlugins=lua.
-- Runs inside slurmctld with its locks held, so the decider has a second, and it must not call Slurm.
-- Fails open: a job that says itself where it goes, and one whose decision does not fit the cluster
-- as slurmctld knows it, goes through as it was submitted.
local DECIDE = "exec timeout -k 1 1 /usr/local/bin/colloc slurm decide -decisions /var/lib/colloc/decisions -- "
local GRES = "gres:" -- how 22.05 writes it; "gres/" since 23.11
local ITS_OWN = { "req_nodes", "exc_nodes", "tres_per_node", "tres_per_job", "tres_per_socket", "tres_per_task",
  "gres", "array_inx", "features", "reservation" } -- with any of these the user has decided

local function alone(n) return not n or n == slurm.NO_VAL or n == slurm.NO_VAL16 or n <= 1 end

-- within: whether a list such as "g[1-3,08],login" has a node.
local function within(node, list)
  for item in list:gsub("%b[]", function(r) return (r:gsub(",", ";")) end):gmatch("[^,]+") do
    local head, ranges, tail = item:match("^(.-)%[(.-)%](.*)$")
    if item == node then return true end
    local n = head and node:sub(1, #head) == head and node:sub(#head + 1, #node - #tail)
    if n and n:match("^%d+$") and node == head .. n .. tail then
      for range in ranges:gmatch("[^;]+") do
        local low, high = range:match("^(%d+)%-?(%d*)$")
        if high == "" then high = low end
        if low and #n == #low and n >= low and n <= high then return true end
      end
    end
  end
  return false
end

-- offered: whether every partition that the job may run in has the node.
local function offered(node, job, partitions)
  local asked = job.partition
  for name, p in pairs(partitions) do
    if not asked and p.flag_default == 1 then asked = name end
  end
  for name in (asked or ""):gmatch("[^,]+") do
    if not partitions[name] or not within(node, partitions[name].nodes or "") then return false end
  end
  return asked ~= nil
end

local function decide(task, uid)
  local pipe = io.popen(DECIDE .. "'" .. task .. "' " .. uid .. " 2>/dev/null", "r")
  if not pipe then return nil end
  local answer = pipe:read("*l") or ""
  pipe:close()
  return answer:match("^node=([%w%-%.]+) gres=([%w:_%-%.]+)$")
end

function slurm_job_submit(job, partitions, uid)
  local ok, err = pcall(function()
    local task = job.comment and job.comment:match("^colloc:([%w_%-%.%%%+~:]+)$") -- nothing that a shell minds
    if not task or not alone(job.min_nodes) then return end
    for _, field in ipairs(ITS_OWN) do
      if job[field] and job[field] ~= "" then return end
    end
    local node, gres = decide(task, string.format("%d", uid))
    if not node or not offered(node, job, partitions) then return end
    job.req_nodes, job.tres_per_node = node, GRES .. gres
    job.admin_comment = "colloc:decided"
    slurm.log_info("colloc: %s goes to %s with %s", task, node, gres)
  end)
  if not ok then slurm.log_error("colloc: %s", tostring(err)) end
  return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, uid) return slurm.SUCCESS end

return slurm.SUCCESS
