"""Where to start next: many points of the host, drawn without a solve for each, scored and improved in batched passes."""
