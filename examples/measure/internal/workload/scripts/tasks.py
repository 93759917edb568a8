"""The workloads by name. The Go side lists the same names in package plan."""

import convolution
import dense
import language
import recommender
import recurrent
import reinforcement

TASKS = {
    **dense.TASKS,
    **convolution.TASKS,
    **language.TASKS,
    **recurrent.TASKS,
    **recommender.TASKS,
    **reinforcement.TASKS,
}
