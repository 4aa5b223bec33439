import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { loadConfig } from '../../src/platform/config/load-config.ts'
import { silentLog } from '../../src/platform/log.ts'
import { ChangeLog } from '../../src/platform/store/change-log.ts'
import { LeasedShares } from '../../src/platform/store/leased-shares.ts'
import { LeasedNodes } from '../../src/platform/store/leased-nodes.ts'
import { BuriedError, type Joining, type Nodes } from '../../src/platform/store/nodes.ts'
import { openStore } from '../../src/platform/store/open-store.ts'
import { openPostgres } from '../../src/platform/store/postgresql/postgres-database.ts'
import { startRelay, type Relay } from '../../src/server/relay/relay.ts'
import { cheapSecrets } from './cheap-secrets.ts'
import { startFakeDns, type FakeZone } from './fake-dns.ts'
import { reusedDashboard } from './reused-dashboard.ts'
import { settableClock, type SettableClock } from './settable-clock.ts'
import { lendPostgres } from './postgres-databases.ts'
import { testDatabase } from './test-database.ts'
import { temporaryDirectory } from './temporary-directory.ts'
import { isOnPostgres } from './tests-on-postgres.ts'

export interface TestNode {
  relay: Relay
  /** Of its machine. Advance it by a second, and the node reads what others have changed, unless the database has a clock of its own. */
  clock: SettableClock
  baseUrl: string
  submissionPort: number
  returnPathPort: number
  call(method: string, path: string, options?: { token?: string; body?: unknown }): Promise<{ status: number; body: any }>
}

export interface TwoNodes {
  a: TestNode
  b: TestNode
  /** Starts another, with a copy of the key file and with some settings of its own. */
  startAnother(settings: Record<string, string>, clock: SettableClock): Promise<TestNode>
}

interface TwoMachines {
  /** When the clocks of their machines begin. */
  a?: number
  b?: number
  /** Settings of the second alone. */
  ofB?: Record<string, string>
  /** Has something done when they are no longer needed; default: with the test. */
  onFinished?: (end: () => unknown) => void
}

/** Moves the time of nodes, and waits for their beats: one would pass for dead where the database takes its time. */
export async function passTime(ms: number, ...nodes: TestNode[]): Promise<void> {
  for (const { clock } of nodes) clock.advance(ms)
  for (const { relay } of nodes) await relay.services.db.write([{ sql: 'select 1' }])
}

/**
 * Two whole relays over one database: one of SQLite in this process, or that of the setting `store_url`. Neither reads the other's changes by
 * itself until its clock moves; move both alike. On a server they do, by its clock.
 */
export async function startTwoNodes(
  given: Record<string, string> = {},
  zone: FakeZone = {},
  machines: TwoMachines = {},
): Promise<TwoNodes> {
  const { onFinished = onTestFinished } = machines
  const isServed = given['store_url'] !== undefined
  const lent = isOnPostgres && !isServed ? await lendPostgres() : null
  if (lent) onFinished(lent.giveBack)
  const url = lent?.url ?? null
  const settings = { ...(url !== null && { store_url: url }), ...given }
  const ofBoth = url === null && !isServed ? { ...(await testDatabase()), close: async () => {}, tellOfInserts() {} } : null
  const dns = await startFakeDns(zone)
  onFinished(() => dns.close())
  const start = async (directory: string, own: Record<string, string>, clock: SettableClock): Promise<TestNode> => {
    const openShared: typeof openStore = async ({ onFatal }) => {
      const db = ofBoth ?? (await openPostgres({ url: url ?? '', ...(onFatal && { onFatal }) }))
      const changes = await ChangeLog.open({ db, clock })
      onFinished(() => changes.stop())
      const limitShares = new LeasedShares({ db, clock })
      const join = async (joining: Joining): Promise<Nodes> => {
        const nodes = await LeasedNodes.join({ db, clock, heard: (table) => db.tellOfInserts(table) }, joining)
        changes.join(nodes.self, joining.log)
        limitShares.join(nodes)
        return nodes
      }
      return { db, clock, changes, limitShares, join, files: null, hasNodes: async () => true }
    }
    const env = {
      data_dir: directory,
      hostname: 'relay.example',
      http_listen: '127.0.0.1:0',
      submission_listen: '127.0.0.1:0',
      submission_tls_listen: '127.0.0.1:0',
      return_path_listen: '127.0.0.1:0',
      dns_servers: dns.server,
      delivery_allow_private_addresses: 'true',
      ...settings,
      ...own,
    }
    const variables = Object.fromEntries(Object.entries(env).map(([name, value]) => [`STERNA_${name.toUpperCase()}`, value]))
    // A test that stops the time of a node has it buried.
    const onFatal = (error: Error): void => {
      if (!(error instanceof BuriedError)) throw error
    }
    const relay = await startRelay(loadConfig({ env: variables }), {
      clock,
      log: silentLog,
      onFatal,
      version: 'test',
      loadDashboard: reusedDashboard,
      open: isServed ? openStore : openShared,
      ...cheapSecrets(),
    })
    onFinished(() => relay.stop())
    const baseUrl = `http://127.0.0.1:${relay.addresses.http[0]?.port}`
    return {
      relay,
      clock,
      baseUrl,
      submissionPort: relay.addresses.submission[0]?.port ?? 0,
      returnPathPort: relay.addresses.returnPath[0]?.port ?? 0,
      async call(method, path, { token, body } = {}) {
        const response = await fetch(baseUrl + path, {
          method,
          headers: {
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        })
        const text = await response.text()
        return { status: response.status, body: text === '' ? null : JSON.parse(text) }
      },
    }
  }
  const newDirectory = (): string => {
    const { path, remove } = temporaryDirectory()
    onFinished(remove)
    return path
  }
  const first = newDirectory()
  const a = await start(first, {}, settableClock(machines.a))
  const startAnother: TwoNodes['startAnother'] = (own, clock) => {
    const directory = newDirectory()
    copyFileSync(join(first, 'secret.key'), join(directory, 'secret.key'))
    return start(directory, own, clock)
  }
  return { a, b: await startAnother(machines.ofB ?? {}, settableClock(machines.b)), startAnother }
}
