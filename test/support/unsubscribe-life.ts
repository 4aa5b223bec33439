import { expect } from 'vitest'
import type { FakeMx } from './fake-mx.ts'
import { SmtpClient } from './smtp-client.ts'
import type { TestRelay } from './start-relay.ts'

/** Recipients unsubscribe, by the link and by mail, each twice; a third gets nothing from the start. */
export async function unsubscribe(relay: TestRelay, mx: FakeMx): Promise<void> {
  const { db } = relay.relay.services
  const byLink = await fieldOf(relay, mx, 'link@rcpt.example')
  const path = /<https?:\/\/[^/>]+(\/u\/[\w-]+)>/.exec(byLink)?.[1] ?? ''
  for (let i = 0; i < 2; i++) {
    const { status } = await fetch(relay.baseUrl + path, { method: 'POST', body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }) })
    expect(status).toBe(200)
    relay.clock.advance(1_000)
  }
  const byMail = await fieldOf(relay, mx, 'mail@rcpt.example')
  const mailbox = /<mailto:([^?>]+)/.exec(byMail)?.[1] ?? ''
  const client = await SmtpClient.connect(relay.returnPathPort)
  await client.command('EHLO mx.rcpt.example')
  for (let i = 0; i < 2; i++) {
    expect((await client.send('Subject: unsubscribe\r\n\r\n', { from: 'mail@rcpt.example', to: [mailbox] })).code).toBe(250)
    await expect.poll(() => db.read("select id from returned_mail where state = 'received'")).toEqual([])
    relay.clock.advance(1_000)
  }
  client.close()
  const refused = await relay.send('link@rcpt.example', { unsubscribe: { topic: 'news' } })
  expect(await relay.recipients(refused)).toMatchObject({ 'link@rcpt.example': { status: 'suppressed' } })
}

/** The List-Unsubscribe field of a message to this address. */
async function fieldOf(relay: TestRelay, mx: FakeMx, address: string): Promise<string> {
  const id = await relay.send(address, { unsubscribe: { topic: 'news' } })
  await expect.poll(async () => (await relay.recipients(id))[address]?.status).toBe('delivered')
  relay.clock.advance(1_000)
  const message = mx.messages.find(({ rcptTo }) => rcptTo[0] === address)?.data.toString('latin1') ?? ''
  return /^List-Unsubscribe: (.*\r\n(?:[ \t].*\r\n)*)/m.exec(message)?.[1] ?? ''
}
