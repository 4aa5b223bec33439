/**
 * Builds single executables: Node, the server with its packages, the dashboard and SQLite in one file each.
 *
 * npm run build:binary                      dist/sterna-linux-x64 or -arm64, for this machine
 * npm run build:binary -- --arch arm64      for the other; Node for it comes from the npm registry
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { heapFlags } from '../src/platform/server-memory.ts'
import { buildDashboard } from '../src/api/http/dashboard-bundle.ts'
import { bundle, root, startedModules, type OwnUrls } from './bundle.ts'

const architectures = ['x64', 'arm64']
const urls: OwnUrls = { ofModule: (name) => JSON.stringify(`sea:///${name}`) }

/** The packages of which something is inside. */
const packagesInside = new Set(['swagger-ui-dist', 'better-sqlite3'])

async function bundleInto(output: string, entry: string): Promise<void> {
  for (const input of await bundle(entry, output, urls)) {
    const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/.exec(input) ?? []
    if (name) packagesInside.add(name)
  }
}

/** What lies in the executable besides its main script, by its path in the checkout. */
async function assets(work: string, arch: string): Promise<Record<string, string>> {
  const packages = [
    ...['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'].map((name) => `swagger-ui-dist/${name}`),
    `better-sqlite3/prebuilds/linux-${arch}.node`,
  ]
  const folders = ['config', 'src/platform/store/migrations'].flatMap((folder) =>
    readdirSync(join(root, folder)).map((name) => `${folder}/${name}`),
  )
  const files = ['package.json', ...folders, ...packages.map((name) => `node_modules/${name}`)]
  const found = Object.fromEntries(files.map((name) => [name, join(root, name)]))
  for (const name of startedModules()) await bundleInto((found[name] = join(work, name)), name)
  for (const [name, content] of (await buildDashboard()) ?? []) {
    writeFileSync((found[`dist/dashboard/${name}`] = join(work, basename(name))), content)
  }
  return found
}

/** The licenses of all that is inside; most ask that their text comes with every copy. */
function licenses(): string {
  const textOf = (name: string): string => {
    const folder = join(root, 'node_modules', name)
    const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string; license: string }
    const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file))
    return [`${name} ${version} (${license})`, ...files.map((file) => readFileSync(join(folder, file), 'utf8'))].join('\n\n')
  }
  const packages = [...packagesInside, `node-linux-${process.arch}`].toSorted()
  return [readFileSync(join(root, 'LICENSE'), 'utf8'), ...packages.map(textOf)].join(`\n${'-'.repeat(80)}\n\n`)
}

/** The executable of Node for an architecture, in the version that package.json names. */
function nodeFor(arch: string, work: string): string {
  const name = `node-linux-${arch}`
  const installed = join(root, 'node_modules', name, 'bin/node')
  if (existsSync(installed)) return installed
  const { version, integrity } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages[`node_modules/${name}`]
  const packed = execFileSync('npm', ['pack', '--silent', `${name}@${version}`], { cwd: work, encoding: 'utf8' }).trim()
  const file = join(work, packed)
  const found = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`
  if (found !== integrity) throw new Error(`${name}@${version} is not what package-lock.json names: ${found} instead of ${integrity}.`)
  execFileSync('tar', ['-xzf', file, '-C', work, 'package/bin/node'])
  return join(work, 'package/bin/node')
}

async function buildBinary(arch: string): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'sterna-binary-'))
  try {
    const main = join(work, 'main.js')
    await bundleInto(main, 'bin/binary.js')
    const output = join(root, 'dist', `sterna-linux-${arch}`)
    const config = {
      main,
      output: join(work, basename(output)),
      executable: nodeFor(arch, work),
      disableExperimentalSEAWarning: true,
      // It saves a third of the start, but Node makes it only for the architecture it runs on.
      useCodeCache: arch === process.arch,
      execArgv: heapFlags,
      execArgvExtension: 'cli',
      assets: await assets(work, arch),
    }
    writeFileSync(join(work, 'sea.json'), JSON.stringify(config))
    // The version inside has to write it, and with the flags inside: otherwise the code cache does not count.
    execFileSync(nodeFor(process.arch, work), [...heapFlags, '--build-sea', join(work, 'sea.json')], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    mkdirSync(join(root, 'dist'), { recursive: true })
    copyFileSync(config.output, output)
    writeFileSync(join(root, 'dist/sterna-licenses.txt'), licenses())
    console.log(`${relative(root, output)}: ${Math.round(statSync(output).size / 1e6)} MB`)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

const { values } = parseArgs({ options: { arch: { type: 'string', default: process.arch } } })
if (!architectures.includes(values.arch)) throw new Error(`--arch is one of ${architectures.join(', ')}.`)
await buildBinary(values.arch)
