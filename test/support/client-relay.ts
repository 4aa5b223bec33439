import { simpleParser, type ParsedMail } from 'mailparser'
import { expect, onTestFinished, vi } from 'vitest'
import { startFakeMx, type FakeMx, type MxMessage } from './fake-mx.ts'
import { startTestRelay, type TestRelay } from './start-relay.ts'

/** A relay for the published clients of other services: mail to `inbox.example` arrives at a host of the test's. */
export interface ClientRelay extends TestRelay {
  mx: FakeMx
  /** What this address was sent, as soon as it has arrived. */
  received(address: string): Promise<ParsedMail>
  /** The email of this id as the API has it. */
  record(id: string): Promise<any>
  /** Publishes a template with this alias; gives its id. */
  template(alias: string, content: { subject: string; html: string }): Promise<string>
  /** All emails on record, newest first. */
  emails(): Promise<any[]>
}

/** Ends with the test, or when `atEnd` says. Clients that would ask a proxy for `127.0.0.1` are told not to. */
export async function startClientRelay(
  settings: Record<string, string> = {},
  atEnd: (end: () => void | Promise<void>) => void = onTestFinished,
): Promise<ClientRelay> {
  for (const name of ['http_proxy', 'https_proxy', 'all_proxy']) vi.stubEnv(name, '').stubEnv(name.toUpperCase(), '')
  atEnd(() => void vi.unstubAllEnvs())
  const mx = await startFakeMx({ host: '127.0.0.2' })
  const zone = { 'inbox.example': { mx: [[10, 'mx.inbox.example']] as [number, string][] }, 'mx.inbox.example': { a: ['127.0.0.2'] } }
  const relay = await startTestRelay({ delivery_port: String(mx.port), webhooks_allow_private_addresses: 'true', ...settings }, zone)
  atEnd(async () => {
    await relay.stop()
    await mx.close()
  })
  return Object.assign(relay, {
    mx,
    async received(address: string) {
      const found = (): MxMessage | undefined => mx.messages.find(({ rcptTo }) => rcptTo.includes(address))
      await expect.poll(found).toBeDefined()
      return simpleParser((found() as MxMessage).data)
    },
    async record(id: string) {
      const { status, body } = await relay.call('GET', `/api/emails/${id}`)
      expect(status).toBe(200)
      return body
    },
    async template(alias: string, content: { subject: string; html: string }) {
      const { status, body } = await relay.call('POST', '/api/templates', { name: alias, alias, ...content })
      expect(status).toBe(201)
      expect((await relay.call('POST', `/api/templates/${alias}/publish`, {})).status).toBe(200)
      return body.id
    },
    async emails() {
      return (await relay.call('GET', '/api/emails?limit=100')).body.data
    },
  })
}

/** A picture of one dot. */
export const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** What is to be seen of the reader of a mail. */
export const trackedIn = ({ html }: { html: string | false }): { opens: boolean; clicks: boolean } => ({
  opens: /<img src="http[^"]+\/t\/o\/\w{48}"/.test(html || ''),
  clicks: /href="http[^"]+\/t\/c\/\w{48}\//.test(html || ''),
})
