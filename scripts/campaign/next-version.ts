import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { ClusterStage } from './cluster-stage.ts'
import type { ServerUnderTest } from './server-under-test.ts'
import { newDatabase, serverOn } from './start-together.ts'

const root = new URL('../../', import.meta.url).pathname
const nextVersion = '99.0.0'
/** Adds what the older version does not know, to a table that it reads whole, too. */
const migration = ['node', 'message'].map((table) => `alter table ${table} add column of_next_version bigint;`).join('\n')

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
  older.addSender(stage.directory)
  newer.token = older.token
  const problems: string[] = []
  try {
    await older.start()
    problems.push(...(await faultOf(older, stage)))
    await newer.start()
    const versions = await stage.cluster.rows<{ version: string }>('select version from node order by version', database)
    if (versions.length !== 2 || versions.at(-1)?.version !== nextVersion) problems.push(`there are nodes of ${JSON.stringify(versions)}`)
    for (const server of [older, newer]) problems.push(...(await faultOf(server, stage)))
    await older.end('SIGTERM')
    await older.start()
    for (const server of [older, newer]) problems.push(...(await faultOf(server, stage)))
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

let mails = 0

/** A node is well, delivers what it takes, and reads it. */
async function faultOf(server: ServerUnderTest, stage: ClusterStage): Promise<string[]> {
  const problem = (what: string): string[] => [`beside another version, ${what}: ${server.logged.slice(-500)}`]
  const call = async (path: string, body?: object): Promise<{ isOk: boolean; text: string }> => {
    const headers = { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' }
    const request = body ? { method: 'POST', body: JSON.stringify(body), headers } : { headers }
    const response = await fetch(`http://127.0.0.1:${server.httpPort}${path}`, request).catch(() => null)
    return { isOk: response?.ok === true, text: (await response?.text()) ?? 'no answer' }
  }
  const health = await call('/healthz')
  if (!health.isOk) return problem(`a node is not well, ${health.text}`)
  const mail = `beside-${++mails * 10}`
  const to = `${mail}@rcpt0.example`
  const sent = await call('/api/emails', { from: 'app@sender.example', to, subject: mail, text: mail, headers: { 'X-Campaign': mail } })
  if (!sent.isOk) return problem(`a node takes no mail, ${sent.text}`)
  stage.acknowledgedAt.set(mail, performance.now())
  for (const end = performance.now() + 60_000; !stage.deliveries.has(mail); await pause(50))
    if (performance.now() > end) return problem('mail is not delivered')
  const read = await call(`/api/emails/${(JSON.parse(sent.text) as { id: string }).id}`)
  return read.isOk ? [] : problem(`a node cannot read its mail, ${read.text}`)
}
