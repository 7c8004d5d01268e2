"""Building blocks of language models (`tvm.relax.frontend.nn.llm`): `kv_cache` paged KV caches, `position_embedding`
rotary embeddings, `rope_frequencies` theirs.
"""
