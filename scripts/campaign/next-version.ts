import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ClusterStage } from './cluster-stage.ts'
import type { ServerUnderTest } from './server-under-test.ts'
import { newDatabase, serverOn } from './start-together.ts'

const root = new URL('../../', import.meta.url).pathname
const nextVersion = '99.0.0'
/** Adds what the older version does not know. */
const migration = 'alter table node add column of_next_version bigint;'

/** Made once, for it takes long. */
let copy: string | undefined

/**
 * A node of this version serves, and one of the next, with one more migration, which only adds, starts beside it; both serve then, also after
 * this version was started anew.
 * @returns what was wrong
 */
export async function runNextVersion(stage: ClusterStage): Promise<string[]> {
  const { url, database } = await newDatabase(stage)
  const [older, newer] = [await serverOn(stage, url, 'older'), await serverOn(stage, url, 'newer')]
  copy ??= copyAsNext(join(stage.directory, 'next-version'))
  newer.program = join(copy, 'bin/sterna.js')
  const problems: string[] = []
  try {
    await older.start()
    await newer.start()
    const versions = await stage.cluster.rows<{ version: string }>('select version from node order by version', database)
    if (versions.length !== 2 || versions.at(-1)?.version !== nextVersion) problems.push(`there are nodes of ${JSON.stringify(versions)}`)
    for (const server of [older, newer]) problems.push(...(await faultOf(server)))
    await older.end('SIGTERM')
    await older.start()
    for (const server of [older, newer]) problems.push(...(await faultOf(server)))
  } finally {
    for (const server of [older, newer]) await server.end('SIGTERM')
  }
  return problems
}

function copyAsNext(directory: string): string {
  mkdirSync(directory)
  for (const name of ['bin', 'src', 'config'])
    cpSync(join(root, name), join(directory, name), { recursive: true, preserveTimestamps: true })
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  const described = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as object
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ ...described, version: nextVersion }))
  writeFileSync(join(directory, 'src/platform/store/migrations/9999-next-version.sql'), migration)
  return directory
}

async function faultOf(server: ServerUnderTest): Promise<string[]> {
  const response = await fetch(`http://127.0.0.1:${server.httpPort}/healthz`).catch(() => null)
  if (response?.ok) return []
  return [`beside another version, a node is not well: ${response ? await response.text() : server.logged.slice(-500)}`]
}
