// Package api holds the words that users, collocd and tests share: the label, the
// annotations, the scheduling gate and the condition of a pod, and what a pod says of
// its task in annotations.
//
// A user labels a pod with [LabelTask] and describes it with [AnnotationProfile],
// [AnnotationMemory], [AnnotationMaxSlowdown], [AnnotationAlone] and [AnnotationClass];
// the gate [Gate] holds it back. collocd writes [AnnotationGPU], [AnnotationUUID] and
// [AnnotationReserved], takes the gate away, and tells in the condition
// [ConditionPlaced] what it decided and why.
package api
