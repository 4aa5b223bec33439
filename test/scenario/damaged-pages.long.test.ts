import { onTestFinished, expect, test } from 'vitest'
import { damage, pagesIn, pageWith, type Page } from '../support/damaged-pages.ts'
import { startFakeMx, type FakeMx } from '../support/fake-mx.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

const minute = 60_000
const mark = 'The words of one message, which stand in one place.'

/** A relay with one email that waits, because the host has refused it once. */
async function startWithQueued(text = mark): Promise<{ relay: TestRelay; mx: FakeMx; held: string; fatal: Error[] }> {
  let refused = 0
  const rcpt = (address: string): string | undefined => (address === 'ann@rcpt.example' && refused++ === 0 ? '451 4.2.1 Later' : undefined)
  const mx = await startFakeMx({ host: '127.0.0.2', on: { rcpt } })
  onTestFinished(() => mx.close())
  const fatal: Error[] = []
  const relay = await startTestRelay(
    { delivery_port: String(mx.port) },
    {
      'rcpt.example': { mx: [[10, 'mx.hosts.example']], ttl: 60 },
      'mx.hosts.example': { a: [mx.host], ttl: 60 },
    },
    { onFatal: (error) => fatal.push(error) },
  )
  onTestFinished(() => relay.stop())
  const held = await relay.send('ann@rcpt.example', { text, html: undefined })
  await expect.poll(async () => (await relay.recipients(held))['ann@rcpt.example']?.status).toBe('deferred')
  // What comes later is on other pages.
  const emails = Array.from({ length: 60 }, () => ({
    from: 'app@sender.example',
    to: 'eve@rcpt.example',
    subject: 'Hi',
    text: 'Hi. '.repeat(200),
  }))
  await relay.call('POST', '/api/emails/batch', emails)
  await expect.poll(() => mx.messages.length).toBe(60)
  return { relay, mx, held, fatal }
}

const faultsOf = async (relay: TestRelay): Promise<{ status: number; faults: { name: string; message: string }[] }> => {
  const answer = await fetch(`${relay.baseUrl}/healthz`)
  return { status: answer.status, faults: ((await answer.json()) as { faults: { name: string; message: string }[] }).faults }
}

async function isDelivered(relay: TestRelay, to = 'bob@rcpt.example'): Promise<void> {
  const id = await relay.send(to)
  await expect.poll(async () => (await relay.recipients(id))[to]?.status).toBe('delivered')
}

/** So long that it is read only once a host is ready for it. */
const long = `${'Before it.\n'.repeat(1_000)}${mark}\n${'After it.\n'.repeat(1_000)}`
const kinds: [string, { table: string; text: string; isInWords?: true }][] = [
  ['a page of its content', { table: 'content', text: mark }],
  ['its words, which SQLite does not look at,', { table: 'content', text: mark, isInWords: true }],
  ['its many words, which SQLite does not look at,', { table: 'content', text: long, isInWords: true }],
  ['the page of its row', { table: 'message', text: mark }],
]

test.each(kinds)(
  'a queued message with damage in %s waits, and keeps nobody else waiting',
  async (_, { table, text, isInWords }) => {
    const { relay, mx, held, fatal } = await startWithQueued(text)
    let mend = (): void => {}
    await relay.restart(() => {
      const page = pageWith(relay.dataDir, table, table === 'content' ? mark : held)
      mend = damage(relay.dataDir, page, isInWords ? page.at : 0)
    })
    relay.clock.advance(5 * minute)
    await expect.poll(async () => (await faultsOf(relay)).faults.map(({ name }) => name)).toEqual(['damaged'])
    const { status, faults } = await faultsOf(relay)
    expect(status).toBe(200)
    expect(faults[0]?.message).toMatch(
      new RegExp(`The table [a-z_ ]*\\b${table}\\b.* is damaged: .*sterna backup list.*sterna restore BACKUP`),
    )
    if (table === 'message') {
      const { body } = await relay.call('GET', `/api/emails/${held}`)
      expect(body).toMatchObject({ statusCode: 500, name: 'damaged_data' })
    } else {
      await expect.poll(async () => (await relay.recipients(held))['ann@rcpt.example']?.last_response).toMatch(/table content .*damaged/)
      const raw = await fetch(`${relay.baseUrl}/api/emails/${held}/source`, { headers: { authorization: `Bearer ${relay.token}` } }).then(
        (answer) => answer.text(),
        () => 'broken off',
      )
      expect(raw).toMatch(/damaged_data|broken off/)
    }
    await isDelivered(relay)
    expect(mx.messages.filter(({ rcptTo }) => rcptTo.includes('ann@rcpt.example'))).toEqual([])
    expect(fatal).toEqual([])

    await relay.restart(mend)
    relay.clock.advance(12 * minute)
    await expect.poll(async () => (await relay.recipients(held))['ann@rcpt.example']?.status).toBe('delivered')
    expect((await faultsOf(relay)).faults).toEqual([])
  },
  120_000,
)

test('a start that cannot go on says how to restore, and ends', async () => {
  const { relay } = await startWithQueued()
  let mend = (): void => {}
  const restarting = relay.restart(() => {
    const page = pagesIn(relay.dataDir).find(({ name, type }) => name === 'recipient_due' && type === 'leaf')
    mend = damage(relay.dataDir, page as Page)
  })
  await expect(restarting).rejects.toThrow(/table recipient .*is damaged: .*sterna restore BACKUP --force/)
  await relay.restart(mend)
  await isDelivered(relay)
}, 120_000)
