import { ReturnedMailStore } from '../../src/mail-back/feedback/returned-mail-store.ts'
import { ReturnedMailBudget } from '../../src/mail-back/feedback/returned-mail-budget.ts'
import { startReturnPathServer, type ReturnPathOptions } from '../../src/mail-back/feedback/return-path-server.ts'
import { silentLog } from '../../src/platform/log.ts'
import { metricsOf } from '../../src/platform/metrics/metrics.ts'
import { encodeToken, type TokenPurpose } from '../../src/platform/smtp/verp.ts'
import { aloneWithChanges } from '../../src/platform/store/changes.ts'
import { onFileFinished } from './file-finished.ts'
import { settableClock } from './settable-clock.ts'
import { SmtpClient } from './smtp-client.ts'
import { testCertificate } from './test-certificates.ts'
import { testDatabase } from './test-database.ts'

/** The recipient that the tokens of these tests are of. */
export const tokenHolder = 'rcp_01j8x4m3k2n5p7q9r1s3t5v7w9'

/** The return-path server for `relay.example` and `send.customer.example`, on a port and with a database of its own. */
export async function startTestReturnPath(options: Partial<ReturnPathOptions> & { storageLimit?: number } = {}) {
  const { storageLimit = 100_000_000, ...limits } = options
  const db = await testDatabase(onFileFinished)
  const tls = await testCertificate(['relay.example'])
  const clock = settableClock()
  const tokenKey = Buffer.alloc(32, 7)
  const returnedMail = new ReturnedMailStore({ db, clock, budget: new ReturnedMailBudget(clock, storageLimit) })
  const space: { require(bytes: number): void } = { require() {} }
  const server = await startReturnPathServer(
    {
      clock,
      changes: aloneWithChanges,
      log: silentLog,
      metrics: metricsOf(),
      tls,
      returnedMail,
      space: { require: (bytes) => space.require(bytes) },
      tokenKeys: () => [tokenKey],
      isOurs: (domain) => domain === 'relay.example' || domain === 'send.customer.example',
      isVerified: () => true,
    },
    {
      listen: [{ host: '127.0.0.1', port: 0 }],
      hostname: 'relay.example',
      messageSizeLimit: 2_000_000,
      maxConnections: 500,
      maxConnectionsPerAddress: 100,
      messagesPerMinute: 0,
      trustedProxies: [],
      ...limits,
    },
  )
  const clients: SmtpClient[] = []
  const port = server.addresses[0]?.port ?? 0
  onFileFinished(async () => {
    for (const client of clients) client.close()
    await server.stop(0)
  })
  return {
    server,
    port,
    clock,
    db,
    returnedMail,
    /** Its `require` may be replaced, to fill the disk. */
    space,
    /** The local part of an address. */
    token: (purpose: TokenPurpose, firstDueAt = clock.now()): string =>
      encodeToken(purpose, { recipientId: tokenHolder, firstDueAt }, tokenKey),
    async connect(how: { greeting?: boolean; localAddress?: string } = {}): Promise<SmtpClient> {
      const client = await SmtpClient.connect(port, how)
      clients.push(client)
      return client
    },
    /** Connected, and greeted. */
    async greet(): Promise<SmtpClient> {
      const client = await this.connect()
      await client.command('EHLO client.example')
      return client
    },
    /** The reports that nobody has settled. */
    waiting: () =>
      db.read<{ forward_path: string; purpose: string }>(
        "select forward_path, purpose from returned_mail where state = 'received' order by id",
      ),
    /** The messages that are kept. */
    async kept(): Promise<string[]> {
      const rows = await db.read<{ bytes: Uint8Array }>('select bytes from returned_mail_content order by id')
      return rows.map(({ bytes }) => Buffer.from(bytes).toString('latin1'))
    },
  }
}
