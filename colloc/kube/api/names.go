package api

// Domain is what every name of this package begins with.
const Domain = "colloc.example.com"

// Names that a user sets on a pod.
const (
	// LabelTask marks a pod that collocd decides about, with the value [True]. It is the
	// filter of collocd's watch.
	LabelTask = Domain + "/task"
	// Gate is the scheduling gate that holds the pod back until collocd has decided.
	Gate = Domain + "/place"

	// AnnotationProfile names the Profile, in the pod's namespace, that describes the
	// task. A pod without one, or whose Profile does not exist, runs alone on its GPU.
	AnnotationProfile = Domain + "/profile"
	// AnnotationMemory is the GPU memory that the task is to get, a quantity such as
	// 12Gi. Without it the Planner predicts it from the Profile.
	AnnotationMemory = Domain + "/memory"
	// AnnotationMaxSlowdown is how many times longer than alone the task may take, at
	// least 1, such as 1.3; "inf" is no limit.
	AnnotationMaxSlowdown = Domain + "/max-slowdown"
	// AnnotationAlone is "true" for a task that shares its GPU with nobody.
	AnnotationAlone = Domain + "/alone"
	// AnnotationClass is [ClassInference] for a task that answers its users' requests and
	// [ClassTraining], the default, for one that works to an end. Who serves is held to
	// AnnotationMaxSlowdown while it runs too, and is the last of its priority to be evicted.
	AnnotationClass = Domain + "/class"
	// AnnotationGPUs is how many GPUs of one product, on one node, the pod takes at once;
	// missing is one. It then shares with nobody but pods of its like that come with it.
	AnnotationGPUs = Domain + "/gpus"
	// AnnotationGangSize is how many pods make a gang: none of them starts before all are
	// placed. They are those of one owner, such as a Job, or those that name one gang.
	AnnotationGangSize = Domain + "/gang-size"
	// AnnotationGang names the gang, in the pod's namespace, where its pods have several
	// owners or none.
	AnnotationGang = Domain + "/gang"
	// AnnotationRestart is what it costs to stop the task and start it again, a duration such as
	// 90s. Only tasks that say so are stopped for those of a higher priority.
	AnnotationRestart = Domain + "/restart"
	// AnnotationLength is how long the task takes alone on its GPU, a duration such as 2h. Without it
	// it is taken for as long as others of its owner took that have ended, as long as they are there.
	AnnotationLength = Domain + "/length"
	// AnnotationRate is a PromQL query with one answer: the steps that the task takes in a
	// second. Beside what it was alone it tells how fast the task is with company. Of one
	// that serves it is how fast it answers, such as 1 by its mean latency, however much it
	// is asked.
	AnnotationRate = Domain + "/step-rate-query"
	// AnnotationSLO is a PromQL query with one answer: above 0 the task is too slow for
	// its users, by their own measure.
	AnnotationSLO = Domain + "/slo-query"
	// AnnotationEvictable is "true" for a task that loses little when it is evicted, for
	// it writes checkpoints.
	AnnotationEvictable = Domain + "/evictable"
)

// Known reports whether collocd reads an annotation of pods.
func Known(annotation string) bool {
	switch annotation {
	case AnnotationProfile, AnnotationMemory, AnnotationMaxSlowdown, AnnotationAlone, AnnotationClass, AnnotationGPUs, AnnotationGangSize,
		AnnotationGang, AnnotationRestart, AnnotationLength, AnnotationRate, AnnotationSLO, AnnotationEvictable,
		AnnotationGPU, AnnotationUUID, AnnotationReserved, AnnotationMPSLimit, AnnotationHAMiLimit, AnnotationShadow:
		return true
	}
	return false
}

// LabelMPS is what an administrator sets to [True] on a node where an MPS daemon serves the pods that
// collocd places: its pipe directory is in each of them. Their tasks are then planned to share by MPS.
const LabelMPS = Domain + "/mps"

// LabelHAMi is what an administrator sets to [True] on a node where HAMi's library (HAMi-core,
// libvgpu.so) is loaded before CUDA's in each pod that collocd places. It holds a task to
// [AnnotationHAMiLimit].
const LabelHAMi = Domain + "/hami"

// Names that collocd writes on a pod.
const (
	// AnnotationGPU is the decision: NODE/DEVICE, where DEVICE is the card's place or
	// name on its node, such as gpu-3, or several of them, joined by commas.
	AnnotationGPU = Domain + "/gpu"
	// AnnotationUUID is what NVIDIA_VISIBLE_DEVICES has to be: the card's UUID where the
	// node tells it, and its index otherwise; several are joined by commas.
	AnnotationUUID = Domain + "/gpu-uuid"
	// AnnotationReserved is the memory set aside for the task on each of its cards, in bytes.
	AnnotationReserved = Domain + "/reserved"
	// AnnotationMPSLimit is AnnotationReserved as the driver's CUDA_MPS_PINNED_DEVICE_MEM_LIMIT
	// takes it, such as 0=9216M, of pods on nodes with [LabelMPS] alone.
	AnnotationMPSLimit = Domain + "/mps-limit"
	// AnnotationHAMiLimit is AnnotationReserved as HAMi-core's CUDA_DEVICE_MEMORY_LIMIT takes
	// it, such as 9216m, of pods on nodes with [LabelHAMi] alone.
	AnnotationHAMiLimit = Domain + "/hami-limit"
	// AnnotationShadow is what collocd would have decided, in shadow mode, as
	// AnnotationGPU.
	AnnotationShadow = Domain + "/shadow"

	// ConditionPlaced is the type of the pod condition in which collocd says what it
	// decided: status True with reason Placed, or False with a reason of
	// packer.ReasonCode and the text that says what would help.
	ConditionPlaced = Domain + "/Placed"
)

// AnnotationUUIDs is set on a node whose labels tell of its GPUs and not of their names: the
// UUIDs of all of them, in the order of their indices, joined by commas, as nvidia-smi -L
// prints them. Cards then keep their names when one of them falls away.
const AnnotationUUIDs = Domain + "/gpu-uuids"

// True is the value of a label or an annotation that says yes.
const True = "true"

// Values of [AnnotationClass].
const (
	ClassInference = "inference"
	ClassTraining  = "training"
)

// FieldManager is the name under which collocd writes.
const FieldManager = "collocd"

// The resource Profile, a CustomResourceDefinition.
const (
	ProfileGroup    = Domain
	ProfileVersion  = "v1alpha1"
	ProfileResource = "profiles"
	ProfileKind     = "Profile"
)

// LeaseName is the Lease over which two collocd agree who decides.
const LeaseName = "collocd"
