import type { AuthenticatedKey } from '../../src/senders/account/api-keys.ts'
import { RefusedLogins } from '../../src/senders/account/refused-logins.ts'
import { minuteMs } from '../../src/platform/rate-limiter.ts'
import { aloneWithLimits } from '../../src/platform/store/local-windows.ts'
import { SharedRate } from '../../src/platform/store/shared-rate.ts'
import { MemoryPool } from '../../src/platform/memory-pool.ts'
import { silentLog } from '../../src/platform/log.ts'
import type { Submission } from '../../src/mail/message/submission.ts'
import { metricsOf } from '../../src/platform/metrics/metrics.ts'
import type { AcceptArriving } from '../../src/mail-in/submission/accept.ts'
import type { Accepted } from '../../src/mail-in/submission/admission.ts'
import { startSubmissionServer, type SubmissionServerOptions } from '../../src/mail-in/submission/submission-server.ts'
import { aloneWithChanges } from '../../src/platform/store/changes.ts'
import { onFileFinished } from './file-finished.ts'
import { testDatabase } from './test-database.ts'
import { settableClock } from './settable-clock.ts'
import { SmtpClient } from './smtp-client.ts'
import { testCertificate } from './test-certificates.ts'

/** What was handed to `accept`, with its bytes put together. */
export interface Taken extends Submission {
  text: string
}

/** The submission server on ports of its own, with keys and a door that the test decides about. */
export async function startTestSubmissionServer(options: Partial<SubmissionServerOptions> = {}) {
  const tls = await testCertificate(['relay.example.com'])
  const clock = settableClock()
  const keys = new Map<string, AuthenticatedKey>()
  const chunks = new Map<string, Map<number, Uint8Array>>()
  const taken: Taken[] = []
  const door = {
    /** What a message may have at most for there to be room, bytes. */
    room: Infinity,
    /** Set to make the door refuse, or wait. */
    before: async (_submission: Submission): Promise<void> => {},
    replayOf: null as string | null,
    store: async (messageId: string, first: number, pieces: Uint8Array[]): Promise<void> => {
      const stored = chunks.get(messageId) ?? new Map<number, Uint8Array>()
      pieces.forEach((bytes, place) => stored.set(first + place, bytes))
      chunks.set(messageId, stored)
    },
  }
  const accept: AcceptArriving = async (arrive): Promise<Accepted> => {
    const submission = await arrive({ store: (...piece) => door.store(...piece) })
    await door.before(submission)
    const stored = [...(chunks.get(submission.id) ?? new Map<number, Uint8Array>())].toSorted(([a], [b]) => a - b)
    const bytes = Buffer.concat([...stored.map(([, chunk]) => chunk), ...submission.content.pending])
    taken.push({ ...submission, text: bytes.toString('utf8') })
    return {
      messageId: door.replayOf ?? submission.id,
      messageIdHeader: submission.header.messageIdHeader,
      createdAt: clock.now(),
      replayed: door.replayOf !== null,
      status: 'queued',
      recipients: [],
    }
  }
  let closeDatabase = async (): Promise<void> => {}
  const db = await testDatabase((close) => (closeDatabase = close))
  const server = await startSubmissionServer(
    {
      db,
      clock,
      changes: aloneWithChanges,
      log: silentLog,
      metrics: metricsOf(),
      tls,
      accept,
      memory: new MemoryPool(),
      refusedLogins: new RefusedLogins(silentLog),
      apiKeys: {
        authenticate: (token) => keys.get(token) ?? { refused: 'invalid' },
        current: ({ tokenDigest }) => keys.get(tokenDigest) ?? { refused: 'invalid' },
      },
      messageRate: new SharedRate(
        { limitShares: aloneWithLimits({ db, clock }), log: silentLog },
        { name: 'smtp messages', limit: options.messagesPerMinute ?? 0, windowMs: minuteMs },
      ),
      space: { has: (bytes) => bytes <= door.room },
    },
    {
      listen: [{ host: '127.0.0.1', port: 0 }],
      tlsListen: [{ host: '127.0.0.1', port: 0 }],
      hostname: 'relay.example.com',
      traceClients: true,
      maxMessageBytes: 10_000_000,
      maxRecipients: 1_000,
      maxConnections: 1_000,
      maxConnectionsPerAddress: 100,
      allowPlaintextAuthOnLoopback: true,
      messagesPerMinute: 0,
      trustedProxies: [],
      ...options,
    },
  )
  const clients: SmtpClient[] = []
  const addKey = (token: string, fields: Partial<AuthenticatedKey> = {}): string => {
    keys.set(token, {
      id: `key_${token}`,
      name: token,
      tokenDigest: token,
      accountId: 'acc_1',
      permission: 'sending_access',
      domainId: null,
      sandbox: false,
      confined: false,
      accountStatus: 'active',
      ...fields,
    })
    return token
  }
  addKey('good')
  const [plain, implicit] = server.addresses
  const ports = { plain: plain?.port ?? 0, tls: implicit?.port ?? 0 }
  onFileFinished(async () => {
    for (const client of clients) client.close()
    await server.stop(0)
    await closeDatabase()
  })
  return {
    server,
    ports,
    clock,
    keys,
    chunks,
    taken,
    door,
    addKey,
    /** Connected, not logged in. */
    async connect(how: Parameters<typeof SmtpClient.connect>[1] = {}): Promise<SmtpClient> {
      const client = await SmtpClient.connect(how.tls ? ports.tls : ports.plain, how)
      clients.push(client)
      return client
    },
    /** Connected and logged in. */
    async login(key = 'good'): Promise<SmtpClient> {
      const client = await this.connect()
      await client.login(key)
      return client
    },
  }
}
