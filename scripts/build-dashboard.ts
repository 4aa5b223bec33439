// Builds the dashboard into dist/dashboard, from where a server without development tools serves it.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { buildDashboard, dashboardOutput } from '../src/api/http/dashboard-bundle.ts'

const files = await buildDashboard()
if (!files) {
  console.error('esbuild is not installed: run npm ci, with the development dependencies.')
  process.exit(1)
}
rmSync(dashboardOutput, { recursive: true, force: true })
mkdirSync(dashboardOutput, { recursive: true })
for (const [name, content] of files) writeFileSync(new URL(name, dashboardOutput), content)
const size = Array.from(files.values(), ({ length }) => length).reduce((sum, length) => sum + length, 0)
console.log(`${files.size} files, ${Math.round(size / 1000)} KB, in dist/dashboard`)
