import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { keyFileOf } from './cluster-node.ts'
import type { ClusterStage } from './cluster-stage.ts'
import { NotStarted, type ServerUnderTest } from './server-under-test.ts'

let databases = 0

/** A server on a database of its own, and a new directory with the key file of all. */
export async function serverOn(stage: ClusterStage, url: string, name: string): Promise<ServerUnderTest> {
  const directory = join(stage.directory, `${name}-${++databases}`)
  mkdirSync(directory)
  copyFileSync(keyFileOf(stage.base), join(directory, 'secret.key'))
  return stage.base.on(directory, { STERNA_STORE_URL: url })
}

export const newDatabase = async ({ cluster }: ClusterStage): Promise<{ url: string; database: string }> => {
  const database = `beside_${++databases}`
  await cluster.rows(`create database ${database}`)
  return { url: cluster.urlOf(database), database }
}

/** Starts three nodes at once on a database that has nothing yet. @returns what was wrong */
export async function startTogether(stage: ClusterStage): Promise<string[]> {
  const { url, database } = await newDatabase(stage)
  const servers = await Promise.all(['first', 'second', 'third'].map((name) => serverOn(stage, url, name)))
  const problems: string[] = []
  const start = (server: ServerUnderTest): Promise<unknown> =>
    server.start().catch((error: unknown) => {
      if (!(error instanceof NotStarted)) throw error
      problems.push(error.message)
    })
  await Promise.all(servers.map(start))
  const [found] = await stage.cluster.rows<{ nodes: number; domains: number }>(
    `select (select count(*) from node) as nodes, (select count(*) from domain where name = 'relay.campaign.example') as domains`,
    database,
  )
  if (found?.nodes !== servers.length) problems.push(`${found?.nodes} of ${servers.length} nodes have started`)
  if (found?.domains !== 1) problems.push(`there are ${found?.domains} domains of the relay itself`)
  for (const server of servers) {
    const ending = await server.end('SIGTERM')
    if (ending && ending.code !== 0) problems.push(`a node that started with others ended with ${ending.code}: ${ending.stderr}`)
  }
  return problems
}
