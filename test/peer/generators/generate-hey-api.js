// Its command line cannot be told the extension that Node wants in imports.
import { createClient } from '@hey-api/openapi-ts'

const [input, path] = process.argv.slice(2)
await createClient({
  input,
  output: { path, module: { extension: '.ts' } },
  plugins: ['@hey-api/client-fetch', '@hey-api/sdk', '@hey-api/typescript'],
  logs: { level: 'silent' },
})
