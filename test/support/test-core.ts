import { loadConfig } from '../../src/platform/config/load-config.ts'
import { loadCore, type Core } from '../../src/api/core.ts'
import { secretsFrom } from '../../src/senders/account/key-file.ts'
import { KeyRing } from '../../src/senders/account/key-ring.ts'
import { Health } from '../../src/platform/health.ts'
import { IdempotencyKeys } from '../../src/mail-in/submission/idempotency-keys.ts'
import { createLog, silentLog } from '../../src/platform/log.ts'
import { aloneWithChanges, type Changes } from '../../src/platform/store/changes.ts'
import type { Database } from '../../src/platform/store/database.ts'
import { MetricsPage } from '../../src/platform/metrics/metrics-page.ts'
import { cheapSecrets } from './cheap-secrets.ts'
import { fakeResolver } from './fake-resolver.ts'
import { settableClock, type SettableClock } from './settable-clock.ts'
import { aloneWithLimits } from '../../src/platform/store/local-windows.ts'
import { onlyNode } from '../../src/platform/store/only-node.ts'
import type { Joining } from '../../src/platform/store/nodes.ts'
import { testStore } from './test-database.ts'

interface CoreOptions {
  now?: number | undefined
  over?: Database
  changes?: Changes
}

export interface TestCore extends Core {
  clock: SettableClock
  idempotencyKeys: IdempotencyKeys
  /** What was logged, a line each. */
  logged: string[]
}

export const joining: Joining = {
  version: 'test',
  machine: 'here',
  settings: { mode: 'live', hostname: 'mail.example.com', baseUrl: 'https://mail.example.com', returnPathDomain: 'mail.example.com' },
  serves: true,
  newestKey: 'first',
  log: silentLog,
  onBuried(error) {
    throw error
  },
}

/**
 * The core as the relay loads it; nothing is in the DNS. `now`: of its clock, epoch ms; `over`: the database, a new one that ends with the test
 * unless given; `changes`: how it hears of other nodes, by default none.
 */
export async function testCore({ now, over, changes = aloneWithChanges }: CoreOptions = {}): Promise<TestCore> {
  const config = loadConfig({ env: { STERNA_HOSTNAME: 'mail.example.com', STERNA_BASE_URL: 'https://mail.example.com' } })
  const clock = settableClock(now)
  const logged: string[] = []
  const log = createLog('debug', (line) => logged.push(line))
  const { db, files } = over ? { db: over, files: null } : await testStore()
  const join = (node: Joining) => onlyNode({ db, clock }, node)
  const metricsPage = new MetricsPage({ clock, log })
  const { metrics } = metricsPage
  const none = async () => ({ status: 'nxdomain' as const, records: [], ttl: 0, secure: false })
  const resolver = { ptr: none, eachServer: [], close() {}, ...fakeResolver({}) }
  const secrets = new KeyRing(secretsFrom(Buffer.alloc(32)), null)
  const health = new Health({ clock, log })
  const secret = { secrets, ...cheapSecrets() }
  const store = { db, clock, changes, limitShares: aloneWithLimits({ db, clock }), files, join, hasNodes: async () => false }
  const core = await loadCore({ config, ...store, log, health, metrics, metricsPage, resolver, ...secret, close: () => db.close() })
  const idempotencyKeys = new IdempotencyKeys({ db, clock, secrets, owner: 'node_1' })
  return Object.assign(core, { clock, logged, idempotencyKeys })
}
