import { writeFileSync } from 'node:fs'
import { loadConfig } from '../../src/platform/config/load-config.ts'
import { silentLog } from '../../src/platform/log.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { databaseFile } from '../../src/platform/store/sqlite/data-directory.ts'
import { LeaseDeadline } from '../../src/platform/store/lease-deadline.ts'
import type { Joining, Nodes } from '../../src/platform/store/nodes.ts'
import { openStore } from '../../src/platform/store/open-store.ts'
import { startRelay, type Relay, type RelayEnvironment } from '../../src/server/relay/relay.ts'
import { servedAnswerCheck } from './answer-check.ts'
import { cheapSecrets } from './cheap-secrets.ts'
import { emptyDatabase } from './empty-database.ts'
import { startFakeDns, type FakeDns, type FakeZone } from './fake-dns.ts'
import { lendPostgres } from './postgres-databases.ts'
import { reusedDashboard } from './reused-dashboard.ts'
import { settableClock, type SettableClock } from './settable-clock.ts'
import { temporaryDirectory } from './temporary-directory.ts'
import { isOnPostgres } from './tests-on-postgres.ts'

/** A whole relay on loopback: real store, sockets, threads and DNS; only the clock and the zone are the test's. */
export interface TestRelay {
  relay: Relay
  clock: SettableClock
  dns: FakeDns
  dataDir: string
  /** Of a live key with full access. */
  token: string
  baseUrl: string
  submissionPort: number
  returnPathPort: number
  /** Calls the API as the key's holder and gives the parsed answer, which must be one that the OpenAPI document promises. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<{ status: number; body: any }>
  /** Sends a plain email from `app@sender.example`; gives its id. */
  send(to: string | string[], fields?: Record<string, unknown>): Promise<string>
  /** The email's recipients by address. */
  recipients(
    id: string,
  ): Promise<Record<string, { status: string; attempts: number; last_response: string | null; smtp_code: number | null }>>
  /** Types of the email's events, oldest first. */
  events(id: string): Promise<string[]>
  /** The same data directory in a new relay, once `whileStopped` is done. */
  restart(whileStopped?: () => unknown): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts a relay with a verified domain `sender.example` and a key; whoever starts it stops it. `settings` are named as
 * in the environment, in lower case and without `STERNA_`: `{ delivery_port: '2525' }`.
 */
export async function startTestRelay(
  settings: Record<string, string> = {},
  zone: FakeZone = {},
  outside: Partial<RelayEnvironment> = {},
): Promise<TestRelay> {
  const clock = settableClock()
  const directory = temporaryDirectory()
  const lent = isOnPostgres && settings['store_url'] === undefined ? await lendPostgres() : null
  if (!lent) writeFileSync(databaseFile(directory.path), await emptyDatabase())
  const dns = await startFakeDns(zone)
  const env = {
    data_dir: directory.path,
    hostname: 'relay.example',
    http_listen: '127.0.0.1:0',
    submission_listen: '127.0.0.1:0',
    submission_tls_listen: '127.0.0.1:0',
    return_path_listen: '127.0.0.1:0',
    dns_servers: dns.server,
    delivery_allow_private_addresses: 'true',
    ...(lent && { store_url: lent.url }),
    ...settings,
  }
  const variables = Object.fromEntries(Object.entries(env).map(([name, value]) => [`STERNA_${name.toUpperCase()}`, value]))
  const fail = (error: Error) => {
    throw error
  }
  const environment = {
    clock,
    log: silentLog,
    onFatal: fail,
    version: 'test',
    loadDashboard: reusedDashboard,
    ...(lent && { open: openBeating }),
    ...cheapSecrets(),
    ...outside,
  }
  const start = () => startRelay(loadConfig({ env: variables }), environment)
  const first = await start()
  const { accounts, apiKeys, sendingDomains } = first.services
  const account = await accounts.create('test', 'enterprise')
  const domain = await sendingDomains.add(account.id, 'sender.example')
  await sendingDomains.verifyManually(domain.id)
  const { token } = await apiKeys.create({ accountId: account.id, name: 'test', permission: 'full_access' })

  const test: TestRelay = {
    relay: first,
    clock,
    dns,
    dataDir: directory.path,
    token,
    baseUrl: '',
    submissionPort: 0,
    returnPathPort: 0,
    async call(method, path, body, headers = {}) {
      const response = await fetch(`${test.baseUrl}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      const check = await servedAnswerCheck(test.baseUrl, settings['compat_enabled'] ?? 'by default')
      check(method, path, { status: response.status, headers: response.headers, text })
      return { status: response.status, body: JSON.parse(text) }
    },
    async send(to, fields = {}) {
      const { status, body } = await test.call('POST', '/api/send', {
        from: 'app@sender.example',
        to,
        subject: 'Hello',
        html: '<p>Hello</p>',
        ...fields,
      })
      if (status !== 200) throw new Error(`sending was refused: ${JSON.stringify(body)}`)
      return body.id
    },
    async recipients(id) {
      const { body } = await test.call('GET', `/api/emails/${id}`)
      return Object.fromEntries(body.recipients.map((recipient: { email: string }) => [recipient.email, recipient]))
    },
    async events(id) {
      const { body } = await test.call('GET', `/api/emails/${id}/events?limit=100`)
      return body.data.map(({ type }: { type: string }) => type)
    },
    async restart(whileStopped = () => {}) {
      await test.relay.stop()
      await whileStopped()
      use(await start())
    },
    async stop() {
      await test.relay.stop()
      await lent?.giveBack()
      await dns.close()
      directory.remove()
    },
  }
  const use = (relay: Relay): void => {
    test.relay = relay
    test.baseUrl = `http://127.0.0.1:${relay.addresses.http[0]?.port}`
    test.submissionPort = relay.addresses.submission[0]?.port ?? 0
    test.returnPathPort = relay.addresses.returnPath[0]?.port ?? 0
  }
  use(first)
  return test
}

/**
 * A node says that it lives, and is heard, whatever time it is for the test. Where the server is slow to answer, its lease does not end: mail is
 * put back then until a few seconds later, which do not pass where the time stands still.
 */
const openBeating: typeof openStore = async (options) => {
  const store = await openStore({ ...options, clock: systemClock })
  const join = async (joining: Joining): Promise<Nodes> =>
    Object.defineProperty(await store.join(joining), 'deadline', { value: Object.assign(new LeaseDeadline(), { set() {} }) })
  return { ...store, clock: options.clock, join }
}
