"""The names left out of `autotvm`, `auto_scheduler` and `meta_schedule`."""

from __future__ import annotations

from collections.abc import Mapping

from baton._src.driver.tvm_names.left_out.reasons import TEST_EQUIPMENT

TUNING_NAMES: Mapping[str, Mapping[str, str]] = {
    "every candidate is measured: no model of costs or features of programs is asked": {
        "meta_schedule": "post_optimization",
        "auto_scheduler": "CostModel PythonBasedModel cost_model feature",
        "autotvm": "feature",
        "autotvm.tuner": "sa_model_optimizer xgboost_cost_model model_based_tuner",
    },
    "rules for CPUs are there; others derive from PyScheduleRule, and a function that schedules is a space": {
        "meta_schedule": "schedule",
        "meta_schedule.schedule_rule": (
            "ApplyCustomRule AutoBind AutoInlineAfter CrossThreadReduction MultiLevelTilingTensorCore "
            "MultiLevelTilingWideVector MultiLevelTilingWithIntrin"
        ),
    },
    "postprocessors for CPUs are there; those of your own derive from PyPostproc": {
        "meta_schedule.postproc": (
            "DisallowAsyncStridedMemCopy RewriteCooperativeFetch RewriteLayout RewriteTensorize RewriteUnboundBlock "
            "VerifyGPUCode VerifyVTCMLimit"
        ),
    },
    "code is made for CPUs, which have no threads to bind; mutators of your own derive from PyMutator": {
        "meta_schedule.mutator": "MutateThreadBinding",
    },
    "models see the decisions of traces; features of your own derive from PyFeatureExtractor": {
        "meta_schedule.feature_extractor": "PerStoreFeature RandomFeatureExtractor",
    },
    'it needs PyTorch; "xgb" is a model that learns, and models of your own derive from PyCostModel': {
        "meta_schedule.cost_model": "MLPModel mlp_model",
    },
    "processes of baton's own measure candidates, within LocalRunner's timeout": {
        "auto_scheduler.utils": "call_func_with_timeout call_func_with_thread kill_child_processes PropagatingThread",
    },
    "there is one way to search: TaskScheduler(tasks).tune, SearchTask.tune": {
        "auto_scheduler": (
            "EmptyPolicy SearchPolicy PreloadCustomSketchRule auto_schedule "
            "search_policy loop_state register_task_input_check_func"
        ),
    },
    "records are in force within ApplyHistoryBest, and none are written while compiling": {
        "auto_scheduler": "DispatchContext ApplyHistoryBestOrSample dispatcher",
    },
    "layouts of weights are chosen by baton's own pipeline": {
        "auto_scheduler": (
            "LayoutRewriteOption get_shape_from_rewritten_layout rewrite_compute_body rewrite_tensor_shape "
            "remove_index_check"
        ),
    },
    "records of other kernels are not taken over; a schedule is replayed by Trace.apply_to_schedule": {
        "meta_schedule": "trace_apply",
    },
    "records are in force within ApplyHistoryBest": {"auto_scheduler": "is_auto_scheduler_enabled"},
    "configurations are measured by autotvm.LocalRunner and RPCRunner": {
        "autotvm.measure": "Builder Runner BuildResult",
    },
    "kernels without records are scheduled by rules; there is no collection of records to fetch": {
        "autotvm": "tophub",
    },
    "there are no settings to change": {"autotvm": "env GLOBAL_SCOPE"},
    "measurements are kept in files: autotvm.callback.log_to_file": {"autotvm": "database"},
    "operators' kernels are baton's own; a kernel of yours is an autotvm.template": {
        "autotvm": "register_topi_compute register_topi_schedule",
        "autotvm.task": (
            "register_topi_compute register_topi_schedule topi_integration TaskExtractEnv ApplyFixedConfig"
        ),
    },
    TEST_EQUIPMENT: {"meta_schedule": "testing"},
    "it is older than meta_schedule, which is served: tvm.meta_schedule, and passes named MetaSchedule...": {
        "relax.transform": "tuning_api",
    },
}
"""Why: below what, which names."""
