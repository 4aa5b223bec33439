import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { isBinary, programFile, programFolder } from '../../platform/program.ts'

/** A built file, with what it is after compression. */
export interface DashboardFile {
  /** A media type. */
  type: string
  etag: string
  identity: Buffer
  br: Buffer
  gzip: Buffer
}

/** What a browser loads: the page, and its assets by name. Assets carry a hash of their content in their names. */
export interface DashboardBundle {
  shell: DashboardFile
  assets: ReadonlyMap<string, DashboardFile>
}

/** The folder that `npm run build` writes. */
export const dashboardOutput = new URL('../../../dist/dashboard/', import.meta.url)
const shellName = 'index.html'
/** Stands in the built page for the path below which it is served. */
const basePathMark = '%BASE_PATH%'

const types: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}

/**
 * The dashboard, built in memory where its sources and esbuild are at hand, as in a working copy, and read from `dist` otherwise.
 * Null where neither is there. `basePath` is the path of `base_url` without its final slash.
 */
export async function loadDashboard(basePath: string): Promise<DashboardBundle | null> {
  const files = (await buildDashboard()) ?? readOutput()
  const page = files.get(shellName)
  if (!page) return null
  files.set(shellName, Buffer.from(page.toString().replaceAll(basePathMark, basePath)))
  const ready = new Map(await Promise.all(Array.from(files, async ([name, content]) => [name, await compressed(name, content)] as const)))
  const shell = ready.get(shellName)
  ready.delete(shellName)
  return { shell: shell!, assets: ready }
}

/** The files of the dashboard by name, built from its sources; null where those or esbuild, a development tool, are missing. */
export async function buildDashboard(): Promise<Map<string, Buffer> | null> {
  if (isBinary) return null
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  const sources = join(root, 'src/clients/dashboard')
  if (!existsSync(join(sources, 'main.tsx'))) return null
  const esbuild = await import('esbuild').catch(() => null)
  if (!esbuild) return null
  try {
    const { outputFiles, metafile } = await esbuild.build({
      entryPoints: [join(sources, 'main.tsx'), join(sources, 'style.css'), join(sources, 'mark.svg')],
      absWorkingDir: root,
      outdir: 'out',
      entryNames: '[name].[hash]',
      chunkNames: '[name].[hash]',
      bundle: true,
      splitting: true,
      minify: true,
      format: 'esm',
      target: 'es2023',
      jsx: 'automatic',
      jsxImportSource: 'preact',
      loader: { '.svg': 'copy' },
      tsconfig: join(sources, 'tsconfig.json'),
      metafile: true,
      write: false,
      legalComments: 'none',
      logLevel: 'silent',
    })
    const built = new Map(outputFiles.map(({ path, contents }) => [basename(path), Buffer.from(contents)]))
    const nameOf = (source: string): string => {
      const [path = ''] =
        Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === `src/clients/dashboard/${source}`) ?? []
      return basename(path)
    }
    const names = { script: nameOf('main.tsx'), style: nameOf('style.css'), mark: nameOf('mark.svg') }
    return built.set(shellName, Buffer.from(shellPage(names)))
  } finally {
    await esbuild.stop()
  }
}

const readOutput = (): Map<string, Buffer> =>
  new Map(programFolder(dashboardOutput).map((name) => [name, programFile(new URL(name, dashboardOutput))]))

const shellPage = ({ script, style, mark }: { script: string; style: string; mark: string }): string => `<!doctype html>
<html lang="en" data-base-path="${basePathMark}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Sterna</title>
<link rel="icon" href="${basePathMark}/assets/${mark}">
<link rel="stylesheet" href="${basePathMark}/assets/${style}">
<script type="module" src="${basePathMark}/assets/${script}"></script>
</head>
<body>
<noscript>The dashboard needs JavaScript. The <a href="${basePathMark}/docs">API</a> and the commands of <code>sterna</code> work without it.</noscript>
</body>
</html>
`

async function compressed(name: string, identity: Buffer): Promise<DashboardFile> {
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(identity, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
    promisify(gzip)(identity, { level: 9 }),
  ])
  const etag = `"${createHash('sha256').update(identity).digest('base64url').slice(0, 22)}"`
  return { type: types[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream', etag, identity, br, gzip: gz }
}
