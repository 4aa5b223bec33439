import { afterAll, beforeAll, expect, test } from 'vitest'
import { startFakeMx, type FakeMx, type MxHooks } from '../support/fake-mx.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

/** Replies whose meaning depends on what they answer: the host, what it does, and the phase, code and owner that are shown. */
const cases: Record<string, [host: string, on: MxHooks, phase: string, code: string, owner: string]> = {
  banner: ['127.0.8.21', { banner: () => '554 5.7.1 service refused' }, 'banner', 'server_refused', 'us'],
  mail: ['127.0.8.22', { mail: () => '554 qwertz' }, 'mail', 'server_refused', 'us'],
  rcpt: ['127.0.8.23', { rcpt: () => '450 4.2.0 Please try again in 5 minutes' }, 'rcpt', 'greylisting', 'network'],
  dot: ['127.0.8.24', { dot: () => '554 transaction failed' }, 'dot', 'policy', 'sender'],
}

const hosts: FakeMx[] = []
let relay: TestRelay

beforeAll(async () => {
  for (const [host, on] of Object.values(cases)) hosts.push(await startFakeMx({ host, on, ...(hosts[0] && { port: hosts[0].port }) }))
  const zones = Object.entries(cases).flatMap(([name, [host]]) => [
    [`${name}.example`, { mx: [[10, `mx.${name}.example`]] }],
    [`mx.${name}.example`, { a: [host] }],
  ])
  relay = await startTestRelay({ delivery_port: String(hosts[0]?.port) }, Object.fromEntries(zones))
})

afterAll(async () => {
  await relay.stop()
  for (const host of hosts) await host.close()
})

test.each(Object.entries(cases))(
  'a reply to %s is explained alike for the attempt, the recipient, the list and the event',
  async (name, [, , phase, code, owner]) => {
    const id = await relay.send(`ann@${name}.example`)
    const recipient = async () => (await relay.call('GET', `/api/emails/${id}`)).body.recipients[0]
    await expect.poll(async () => (await recipient()).explanation).toMatchObject({ code, owner })
    const { body: attempts } = await relay.call('GET', `/api/emails/${id}/attempts`)
    expect(attempts.data[0].explanation).toEqual((await recipient()).explanation)
    const { body: list } = await relay.call('GET', `/api/emails?to=${encodeURIComponent(`ann@${name}.example`)}`)
    expect(list.data[0].reason).toMatchObject({ code, owner })
    const { body: events } = await relay.call('GET', `/api/emails/${id}/events`)
    const told = events.data.filter(({ type }: { type: string }) => type === 'email.bounced' || type === 'email.deferred')
    expect(told.map(({ data }: { data: { phase?: string } }) => data.phase)).toEqual([phase])
  },
)
