"""Parts of language models (`tvm.relax.frontend.nn.llm`): `kv_cache` caches of keys and values in pages,
`position_embedding` rotary embeddings."""
