// Its command line cannot be told the extension that Node wants in imports.
import { generate } from 'orval'

const [input, target] = process.argv.slice(2)
await generate({ input, output: { target, client: 'fetch', mode: 'single', baseUrl: process.env.BASE_URL } })
