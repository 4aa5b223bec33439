import sendGrid from '@sendgrid/client'
import formData from 'form-data'
import Mailgun from 'mailgun.js'
import { Models, ServerClient } from 'postmark'
import { beforeEach, describe, expect, test } from 'vitest'
import { insertSuppression } from '../../../src/mail/suppression/insert-suppression.ts'
import { startClientRelay, type ClientRelay } from '../../support/client-relay.ts'

let relay: ClientRelay
beforeEach(async () => {
  relay = await startClientRelay({ plans: 'free=100000' })
})

/** Sends to somebody of the simulator, and waits until that is over. */
async function sendTo(person: string): Promise<string> {
  const id = await relay.send(`${person}@simulator.test`, { tags: { welcome: 'true' } })
  const wanted = { bounced: 'bounced', softbounced: 'bounced', suppressed: 'suppressed' }[person] ?? 'delivered'
  await expect.poll(async () => Object.values(await relay.recipients(id))[0]?.status).toBe(wanted)
  return id
}
/** As a bounce or a complaint does, which the simulator keeps off the list. */
async function suppress(email: string, origin: 'bounce' | 'complaint', reason: string | null = null): Promise<void> {
  const { accounts, db } = relay.relay.services
  const scope = { accountId: accounts.getAccount('test').id, sandbox: false }
  await db.write([insertSuppression(scope, { address: email, origin, reason, sourceId: null, createdAt: relay.clock.now() })])
}
const refusedAt = '550 5.1.1 No such user'
const listed = async (): Promise<object[]> =>
  (await relay.call('GET', '/api/suppressions?limit=100')).body.data.map(({ email, origin, topic }: any) => ({ email, origin, topic }))
const addresses = (rows: object[]) => rows.map((row) => (row as { email: string }).email).toSorted()

describe('Postmark', () => {
  const client = (key = relay.token) =>
    new ServerClient(key, { requestHost: `${relay.baseUrl.replace('http://', '')}/compat/postmark`, useHttps: false })

  test('bounces are listed, read and activated', async () => {
    const bounced = await sendTo('bounced')
    await suppress('bounced@simulator.test', 'bounce', refusedAt)
    await sendTo('softbounced')
    await sendTo('suppressed')
    const { TotalCount, Bounces } = await client().getBounces()
    expect(TotalCount).toBe(2)
    expect(Bounces.map(({ Type, Email }) => [Type, Email])).toEqual([
      ['SoftBounce', 'softbounced@simulator.test'],
      ['HardBounce', 'bounced@simulator.test'],
    ])
    expect(Bounces[1]).toMatchObject({ RecordType: 'Bounce', MessageID: bounced, Tag: 'welcome', Inactive: true, CanActivate: true })
    const [{ ID: id } = { ID: 0 }] = (await client().getBounces({ count: 1, offset: 1 })).Bounces
    expect(id).toBe(Bounces[1]?.ID)
    expect((await client().getBounces({ type: Models.BounceType.SoftBounce })).Bounces).toHaveLength(1)
    expect((await client().getBounces({ emailFilter: 'bounced@simulator.test', messageID: bounced })).TotalCount).toBe(1)
    expect(await client().getBounce(id)).toEqual(Bounces[1])
    expect(await client().getBounceDump(id)).toEqual({ Body: '' })
    expect(await listed()).toMatchObject([{ email: 'bounced@simulator.test', origin: 'bounce' }])
    expect(await client().activateBounce(id)).toMatchObject({ Message: 'OK', Bounce: { ID: id, Inactive: false } })
    expect(await listed()).toEqual([])
    await expect(client().getBounce(12_345)).rejects.toMatchObject({ statusCode: 404 })
  })

  test('suppressions are dumped, added and removed', async () => {
    await suppress('bounced@simulator.test', 'bounce')
    await suppress('complained@simulator.test', 'complaint')
    const made = await client().createSuppressions('outbound', {
      Suppressions: [{ EmailAddress: 'Ann@example.com' }, { EmailAddress: 'nobody' }],
    })
    expect(made.Suppressions).toEqual([
      { EmailAddress: 'Ann@example.com', Status: 'Suppressed', Message: null },
      { EmailAddress: 'nobody', Status: 'Failed', Message: expect.any(String) },
    ])
    const { Suppressions } = await client().getSuppressions('outbound')
    const kinds = Object.fromEntries(Suppressions.map((one) => [one.EmailAddress, `${one.SuppressionReason} by ${one.Origin}`]))
    expect(kinds).toMatchObject({
      'ann@example.com': 'ManualSuppression by Customer',
      'bounced@simulator.test': 'HardBounce by Recipient',
      'complained@simulator.test': 'SpamComplaint by Recipient',
    })
    const hard = await client().getSuppressions('outbound', { suppressionReason: Models.SuppressionReason.HardBounce })
    expect(hard.Suppressions.map(({ EmailAddress }) => EmailAddress)).toEqual(['bounced@simulator.test'])
    await client().deleteSuppressions('outbound', { Suppressions: [{ EmailAddress: 'ann@example.com' }] })
    expect(addresses(await listed())).not.toContain('ann@example.com')
    await expect(client().getSuppressions('broadcast')).rejects.toMatchObject({ statusCode: 404 })
    const body = await relay.call('POST', '/api/api-keys', { name: 'reader', permission: 'read_access' })
    await expect(client(body.body.token).createSuppressions('outbound', { Suppressions: [] })).rejects.toMatchObject({ statusCode: 401 })
    const audit = await relay.relay.services.db.read<{ operation: string }>('select operation from audit')
    expect(audit.map(({ operation }) => operation)).toContain('compat.postmark_message_streams_stream_suppressions_delete.post')
  })
})

describe('SendGrid', () => {
  type Method = 'GET' | 'POST' | 'DELETE'
  async function ask(method: Method, url: string, body?: object, qs?: object): Promise<[status: number, body: any]> {
    sendGrid.setApiKey(relay.token)
    sendGrid.setDefaultRequest('baseUrl', `${relay.baseUrl}/compat/sendgrid/`)
    const [response, answer] = await sendGrid.request({ method, url, ...(body ? { body } : {}), ...(qs ? { qs } : {}) })
    return [response.statusCode, answer]
  }

  test('bounces, spam reports and unsubscribes are listed in pieces, and removed one by one or all at once', async () => {
    await suppress('bounced@simulator.test', 'bounce', refusedAt)
    await suppress('complained@simulator.test', 'complaint')
    const [, bounces] = await ask('GET', 'v3/suppression/bounces')
    expect(bounces).toEqual([
      { created: expect.any(Number), email: 'bounced@simulator.test', reason: expect.stringContaining('5.1.1'), status: '5.1.1' },
    ])
    expect((await ask('GET', 'v3/suppression/spam_reports'))[1]).toMatchObject([{ email: 'complained@simulator.test' }])
    for (const list of ['blocks', 'invalid_emails', 'unsubscribes']) expect((await ask('GET', `v3/suppression/${list}`))[1]).toEqual([])
    const recipients = ['a@example.com', 'b@example.com', 'c@example.com']
    expect(await ask('POST', 'v3/asm/suppressions/global', { recipient_emails: recipients })).toEqual([
      201,
      { recipient_emails: recipients },
    ])
    const second = await ask('GET', 'v3/suppression/unsubscribes', undefined, { limit: 1, offset: 1 })
    expect(second[1]).toMatchObject([{ email: 'b@example.com' }])
    expect((await ask('GET', 'v3/asm/suppressions/global/a@example.com'))[1]).toEqual({ recipient_email: 'a@example.com' })
    expect((await ask('GET', 'v3/asm/suppressions/global/x@example.com'))[1]).toEqual({})
    expect((await ask('DELETE', 'v3/asm/suppressions/global/a%40example.com'))[0]).toBe(204)
    expect((await ask('DELETE', 'v3/suppression/bounces/bounced@simulator.test'))[0]).toBe(204)
    await expect(ask('DELETE', 'v3/suppression/bounces/bounced@simulator.test')).rejects.toMatchObject({ code: 404 })
    expect((await ask('DELETE', 'v3/suppression/unsubscribes', { emails: ['b@example.com'] }))[0]).toBe(204)
    expect(addresses(await listed())).toEqual(['c@example.com', 'complained@simulator.test'])
    expect((await ask('DELETE', 'v3/suppression/unsubscribes', { delete_all: true }))[0]).toBe(204)
    expect(addresses(await listed())).toEqual(['complained@simulator.test'])
    await expect(ask('DELETE', 'v3/suppression/unsubscribes', {})).rejects.toMatchObject({ code: 400 })
  })

  test('a group is a topic', async () => {
    await ask('POST', 'v3/asm/groups/17/suppressions', { recipient_emails: ['ann@example.com'] })
    expect(await listed()).toEqual([{ email: 'ann@example.com', origin: 'unsubscribe', topic: '17' }])
    expect((await ask('GET', 'v3/asm/groups/17/suppressions'))[1]).toEqual(['ann@example.com'])
    expect((await ask('GET', 'v3/asm/groups/18/suppressions'))[1]).toEqual([])
    expect((await ask('GET', 'v3/suppression/unsubscribes'))[1]).toEqual([])
    expect((await ask('DELETE', 'v3/asm/groups/17/suppressions/ann@example.com'))[0]).toBe(204)
    expect(await listed()).toEqual([])
  })
})

describe('Mailgun', () => {
  const client = () => new Mailgun(formData).client({ username: 'api', key: relay.token, url: `${relay.baseUrl}/compat/mailgun` })

  test('events come in pages, forward and back, with what their webhooks tell', async () => {
    for (const person of ['delivered', 'bounced', 'clicked']) await sendTo(person)
    const names = async (query: object) => (await client().events.get('sender.example', query)).items.map(({ event }: any) => event)
    const wanted = ['accepted', 'accepted', 'accepted', 'clicked', 'delivered', 'delivered', 'failed', 'opened']
    await expect.poll(async () => (await names({})).toSorted()).toEqual(wanted)
    const seen: any[] = []
    let page = await client().events.get('sender.example', { limit: 3, ascending: 'yes' })
    for (; page.items.length > 0; page = await client().events.get('sender.example', { page: page.pages.next.page! }))
      seen.push(...page.items)
    expect(seen.map(({ event }) => event).toSorted()).toEqual(wanted)
    expect(seen.map(({ timestamp }) => timestamp)).toEqual(seen.map(({ timestamp }) => timestamp).toSorted())
    const back = await client().events.get('sender.example', { page: page.pages.previous.page! })
    expect(back.items.map(({ id }) => id)).toEqual(seen.slice(-3).map(({ id }) => id))
    expect(await names({ event: 'failed' })).toEqual(['failed'])
    expect(await names({ recipient: 'delivered@simulator.test' })).toEqual(['delivered', 'accepted'])
    const [failed] = (await client().events.get('sender.example', { event: 'failed' })).items as any[]
    expect(failed).toMatchObject({ severity: 'permanent', tags: ['welcome'], 'delivery-status': { code: 550 } })
    await expect(client().events.get('sender.example', { event: 'nonsense' } as never)).rejects.toMatchObject({ status: 400 })
    await expect(client().events.get('sender.example', { page: 'eyJsaW1pdCI6MX0' })).rejects.toMatchObject({ status: 400 })
    await expect(client().events.get('other.example')).rejects.toMatchObject({ status: 403 })
  })

  test('suppressions come in pages, one by one, and are removed', async () => {
    await suppress('bounced@simulator.test', 'bounce', refusedAt)
    await suppress('complained@simulator.test', 'complaint')
    await relay.call('POST', '/api/suppressions', { emails: ['a@example.com', 'b@example.com', 'c@example.com'] })
    const { suppressions } = client()
    const [bounce] = (await suppressions.list('sender.example', 'bounces')).items as any[]
    expect(bounce).toMatchObject({ type: 'bounces', address: 'bounced@simulator.test', code: 550, error: expect.stringContaining('5.1.1') })
    const seen: string[] = []
    let page = await suppressions.list('sender.example', 'unsubscribes', { limit: 2 })
    for (; page.items.length > 0; page = await suppressions.list('sender.example', 'unsubscribes', { page: page.pages.next.page! }))
      seen.push(...page.items.map(({ address }: any) => address))
    expect(seen).toEqual(['c@example.com', 'b@example.com', 'a@example.com'])
    expect(await suppressions.get('sender.example', 'unsubscribes', 'a@example.com')).toMatchObject({
      address: 'a@example.com',
      tags: ['*'],
    })
    expect(await suppressions.get('sender.example', 'complaints', 'complained@simulator.test')).toMatchObject({
      address: 'complained@simulator.test',
    })
    await suppressions.destroy('sender.example', 'bounces', 'bounced@simulator.test')
    await expect(suppressions.get('sender.example', 'bounces', 'bounced@simulator.test')).rejects.toMatchObject({ status: 404 })
    await suppressions.destroyAll('sender.example', 'unsubscribes')
    expect(addresses(await listed())).toEqual(['complained@simulator.test'])
  })
})
