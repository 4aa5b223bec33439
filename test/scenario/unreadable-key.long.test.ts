import { expect, onTestFinished, test } from 'vitest'
import { startFakeMx } from '../support/fake-mx.ts'
import { startTestRelay } from '../support/start-relay.ts'

const hour = 3_600_000
const destinations = 50

test('mail that cannot be signed because its key cannot be opened waits, and keeps nobody else waiting', async () => {
  const mx = await startFakeMx({ host: '127.0.0.2' })
  onTestFinished(() => mx.close())
  const names = ['rcpt', ...Array.from({ length: destinations }, (_, i) => `d${i}`)].map((name) => `${name}.example`)
  const zone = Object.fromEntries(names.map((name) => [name, { mx: [[10, 'mx.hosts.example']] as [number, string][], ttl: 60 }]))
  const relay = await startTestRelay({ delivery_port: String(mx.port) }, { ...zone, 'mx.hosts.example': { a: [mx.host], ttl: 60 } })
  onTestFinished(() => relay.stop())
  const { db, accounts, sendingDomains, apiKeys } = relay.relay.services
  const other = await accounts.create('other', 'enterprise')
  const domain = await sendingDomains.add(other.id, 'other.example')
  await sendingDomains.verifyManually(domain.id)
  const { token } = await apiKeys.create({ accountId: other.id, name: 'other', permission: 'full_access' })
  const asOther = { authorization: `Bearer ${token}` }
  const keysOf = { domainId: domain.id }
  const sealed = await db.read<{ id: string; private_key: Uint8Array }>(
    'select id, private_key from dkim_key where domain_id = :domainId',
    keysOf,
  )
  await db.write([
    { sql: `update dkim_key set private_key = :rubbish where domain_id = :domainId`, params: { ...keysOf, rubbish: new Uint8Array(100) } },
  ])
  await relay.restart()

  // More than may be in hand at a time.
  const ids: string[] = []
  for (let i = 0; i < 22; i++) {
    const emails = Array.from({ length: 100 }, (_, j) => ({
      from: 'a@other.example',
      to: `u${i}@d${j % destinations}.example`,
      subject: 'Hello',
      text: 'Hello',
    }))
    const { status, body } = await relay.call('POST', '/api/emails/batch', emails, asOther)
    expect(status).toBe(200)
    ids.push(...body.data.map(({ id }: { id: string }) => id))
  }
  const untried = `select count(*) as n from recipient where account_id = :id and (state <> 'deferred' or attempts <> 1 or owner is not null)`
  const count = async (sql: string) => (await relay.relay.services.db.read<{ n: number }>(sql, { id: other.id }))[0]?.n
  await expect.poll(() => count(untried)).toBe(0)
  const { body } = await relay.call('GET', `/api/emails/${ids[0]}/attempts`, undefined, asOther)
  expect(body.data).toMatchObject([
    { outcome: 'deferred', mx_host: null, reply: expect.stringMatching(/dkim_key .* cannot be decrypted with this secret key file/) },
  ])

  const mine = await relay.send('ann@rcpt.example')
  const theirs = await relay.send(Array.from({ length: destinations }, (_, i) => `ann@d${i}.example`))
  await expect
    .poll(
      async () =>
        new Set(Object.values({ ...(await relay.recipients(mine)), ...(await relay.recipients(theirs)) }).map(({ status }) => status)),
    )
    .toEqual(new Set(['delivered']))
  expect((await fetch(`${relay.baseUrl}/healthz`)).status).toBe(200)

  // The right key is brought back.
  await relay.relay.services.db.write(
    sealed.map(({ id, private_key: key }) => ({ sql: 'update dkim_key set private_key = :key where id = :id', params: { id, key } })),
  )
  await relay.restart()
  relay.clock.advance(hour)
  await expect.poll(() => count(`select count(*) as n from recipient where account_id = :id and state <> 'delivered'`)).toBe(0)
  expect(mx.messages).toHaveLength(ids.length + destinations + 1)
}, 180_000)
