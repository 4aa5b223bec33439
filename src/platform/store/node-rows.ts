import type { Clock } from '../clock.ts'
import type { Database, Row, Statement } from './database.ts'
import type { Joining, SharedSettings } from './nodes.ts'

/** What a node tells of itself while it runs. */
export interface NodeReport {
  /** That its mail leaves from, as far as it knows. */
  addresses: string[]
  faults: NodeFault[]
}

export interface NodeFault {
  name: string
  message: string
  /** ISO 8601. */
  since: string
}

/** A node, as all can read it. */
export interface ListedNode extends NodeReport {
  id: string
  /** The name of its machine. */
  machine: string
  version: string
  /** Epoch, ms, both. */
  startedAt: number
  heardAt: number
}

export const everyBeat: Statement = { sql: 'select name, beat, serves from node order by name' }

/** Those of what `everyBeat` finds that share what is divided: who serves, and whoever asks. */
export const servingOf = (rows: readonly Row[], self: string): string[] =>
  rows.filter(({ name, serves }) => Number(serves) === 1 || name === self).map(({ name }) => String(name))

type Fresh = Pick<Joining, 'version' | 'machine' | 'settings' | 'serves' | 'newestKey'> & { name: string; now: number }

/** The columns of the settings that all nodes must have alike. */
export type SharedColumns = Record<'mode' | 'hostname' | 'base_url' | 'return_path_domain', string>

export const sharedColumns = ({ mode, hostname, baseUrl, returnPathDomain }: SharedSettings): SharedColumns => ({
  mode,
  hostname,
  base_url: baseUrl,
  return_path_domain: returnPathDomain,
})

/** Of a node that counts and has other settings. One whose beat is negative is known to be dead. */
export const isUnlike = `beat >= 0 and (mode <> :mode or hostname <> :hostname or base_url <> :base_url or return_path_domain <> :return_path_domain)`

/** Adds the row of a node, unless one that counts has other settings. */
export const insertNode = ({ name, now, version, machine, settings, serves, newestKey }: Fresh): Statement => ({
  sql: `insert into node (name, started_at, heard_at, version, machine, serves, newest_key, mode, hostname, base_url, return_path_domain)
    select :name, :now, :now, :version, :machine, :serves, :newestKey, :mode, :hostname, :base_url, :return_path_domain
     where not exists (select 1 from node where ${isUnlike})`,
  params: { name, now, version, machine, serves: Number(serves), newestKey, ...sharedColumns(settings) },
  expect: 1,
})

/** A node that has told nothing for so long died with nobody to bury it, ms. A lone one tells every minute. */
const goneAfterMs = 180_000

interface ListServices {
  db: Pick<Database, 'read'>
  clock: Pick<Clock, 'now'>
}

/** The nodes that run on this database, the earliest first. One that has just died may be among them. */
export async function listNodes({ db, clock }: ListServices): Promise<ListedNode[]> {
  const rows = await db.read<Row & Record<'name' | 'machine' | 'version' | 'addresses' | 'faults', string>>(
    `select name, machine, version, started_at, heard_at, addresses, faults from node
      where beat >= 0 and serves = 1 and heard_at >= :since order by started_at, name`,
    { since: clock.now() - goneAfterMs },
  )
  return rows.map(({ name, machine, version, started_at: startedAt, heard_at: heardAt, addresses, faults }) => ({
    id: name,
    machine,
    version,
    startedAt: Number(startedAt),
    heardAt: Number(heardAt),
    addresses: JSON.parse(addresses) as string[],
    faults: JSON.parse(faults) as NodeFault[],
  }))
}

/** Tells the other nodes which key is the newest that this one has. */
export const tellNewestKey = (name: string, newestKey: string): Statement => ({
  sql: 'update node set newest_key = :newestKey where name = :name',
  params: { name, newestKey },
})

interface NodeKey extends Row {
  name: string
  machine: string
  /** Null if its version does not tell. */
  newestKey: string | null
}

/** The nodes whose newest key is another, as somebody knows them. One that has just died may be among them. */
export async function nodesWithout(db: Pick<Database, 'read'>, newestKey: string): Promise<NodeKey[]> {
  return db.read(
    'select name, machine, newest_key as "newestKey" from node where beat >= 0 and newest_key is distinct from :newestKey order by name',
    { newestKey },
  )
}

/** Tells the other nodes of this one, and that it lives. */
export const reportNode = (name: string, { addresses, faults }: NodeReport, now: number): Statement => ({
  sql: 'update node set addresses = :addresses, faults = :faults, heard_at = :now where name = :name',
  params: { name, addresses: JSON.stringify(addresses), faults: JSON.stringify(faults), now },
})
