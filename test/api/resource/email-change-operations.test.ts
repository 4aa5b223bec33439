import { describe, expect, test } from 'vitest'
import type { Outcome } from '../../../src/mail-out/delivery/attempt.ts'
import { recipientStates } from '../../../src/mail-out/queue/recipient-state.ts'
import type { ApiAnswer } from '../../support/api-server.ts'
import { senderDomainId, startEmailApi, type EmailApi } from '../../support/email-api.ts'

const plain = { from: 'App <app@sender.example>', to: 'user@recipient.example', subject: 'Hello', html: '<p>Hi</p>' }
const hour = 3_600_000
const busy: Outcome = { type: 'deferred', reply: { code: 451, enhancedStatus: null, text: 'Busy' }, category: 'other', reason: '451 Busy' }
const refused: Outcome = {
  type: 'bounced',
  reply: { code: 554, enhancedStatus: '5.7.1', text: 'No' },
  hard: false,
  category: 'policy',
  reason: '554 5.7.1 No',
}
const unknown: Outcome = { ...refused, hard: true, category: 'invalid_recipient' }

const cancel = (api: EmailApi, id: string, token = api.key): Promise<ApiAnswer> =>
  api.request('POST', `/api/emails/${id}/cancel`, { token })
const resend = (api: EmailApi, id: string, headers: Record<string, string> = {}, token = api.key): Promise<ApiAnswer> =>
  api.request('POST', `/api/emails/${id}/resend`, { token, headers })
const move = (api: EmailApi, id: string, scheduledAt: unknown, token = api.key): Promise<ApiAnswer> =>
  api.request('PATCH', `/api/emails/${id}`, { token, body: { scheduled_at: scheduledAt } })

const invalidState = { status: 409, body: { name: 'invalid_state' } }
const notFound = { status: 404, body: { statusCode: 404, name: 'not_found', message: 'There is no email with this id.' } }

const iso = (at: number): string => new Date(at).toISOString()
const idOf = ({ body }: ApiAnswer): string => String(body.id)
const email = async (api: EmailApi, id: string) => (await api.get(`/api/emails/${id}`)).body
const eventsOf = async (api: EmailApi, id: string) =>
  ((await api.get(`/api/emails/${id}/events`)).body.data as { type: string }[]).map(({ type }) => type)

async function scheduled(api: EmailApi, fields: object = {}): Promise<string> {
  const answer = await api.send({ ...plain, scheduled_at: iso(api.clock.now() + hour), ...fields })
  expect(answer.status).toBe(200)
  return idOf(answer)
}

const recipientsOf = (api: EmailApi, id: string) =>
  api.db.read('select * from recipient where message_id = :id order by forward_path', { id })

/** An email one of whose two recipients is in this state, the other in that. */
async function inStates(api: EmailApi, first: string, second: string): Promise<string> {
  const id = await scheduled(api, { to: ['a@r.example', 'b@r.example'] })
  const set = (address: string, state: string) => ({
    sql: `update recipient set state = :state, due_at = :dueAt where message_id = :id and forward_path = :address`,
    params: { id, address, state, dueAt: ['scheduled', 'queued', 'deferred'].includes(state) ? api.clock.now() + hour : null },
  })
  await api.db.write([set('a@r.example', first), set('b@r.example', second)])
  return id
}

describe('canceling', () => {
  test('a scheduled email keeps it from being sent, and is told by events', async () => {
    const api = await startEmailApi()
    const id = await scheduled(api, { to: ['a@r.example', 'b@s.example'], bcc: 'c@s.example' })
    expect(await cancel(api, id)).toMatchObject({ status: 200, body: { object: 'email', id } })
    expect(await email(api, id)).toMatchObject({
      status: 'canceled',
      last_event: 'canceled',
      recipients: Array(3).fill({ status: 'canceled', next_attempt_at: null }),
    })
    expect(await eventsOf(api, id)).toEqual([...Array(3).fill('email.canceled'), ...Array(3).fill('email.queued')])
    api.clock.advance(2 * hour)
    const later = await api.send({ ...plain, to: 'b@s.example' })
    await expect.poll(async () => (await email(api, idOf(later))).status).toBe('delivered')
    expect(api.delivered.map(({ messageId }) => messageId)).toEqual([later.body.id])
  })

  test('again answers what the first time did, and changes nothing', async () => {
    const api = await startEmailApi()
    const id = await scheduled(api)
    const answers = await Promise.all([cancel(api, id), cancel(api, id), cancel(api, id)])
    answers.push(await cancel(api, id))
    for (const answer of answers) expect(answer).toMatchObject({ status: 200, body: { object: 'email', id } })
    expect(await eventsOf(api, id)).toEqual(['email.canceled', 'email.queued'])
  })

  test('takes the empty body with a content type that clients send', async () => {
    const api = await startEmailApi()
    const id = await scheduled(api)
    expect(
      await api.request('POST', `/api/emails/${id}/cancel`, { token: api.key, headers: { 'content-type': 'application/json' } }),
    ).toMatchObject({ status: 200 })
  })

  test('works where every recipient waits, was set aside or is canceled, and nowhere else', async () => {
    const api = await startEmailApi()
    const waits = (state: string) => state === 'scheduled' || state === 'queued'
    const may = (state: string) => waits(state) || state === 'suppressed' || state === 'canceled'
    for (const first of recipientStates) {
      for (const second of recipientStates) {
        const id = await inStates(api, first, second)
        const before = await recipientsOf(api, id)
        const answer = await cancel(api, id)
        const isDone = may(first) && may(second) && (first !== 'suppressed' || second !== 'suppressed')
        expect(answer, `${first}, ${second}`).toMatchObject(isDone ? { status: 200 } : invalidState)
        const after = isDone ? [first, second].map((state) => ({ state: waits(state) ? 'canceled' : state })) : before
        expect(await recipientsOf(api, id)).toMatchObject(after)
      }
    }
  }, 180_000)

  test('comes too late for an email in hand, whose outcome is written all the same', async () => {
    const { promise, resolve: go } = Promise.withResolvers<void>()
    const api = await startEmailApi({ hold: () => promise })
    const id = idOf(await api.send(plain))
    await expect.poll(() => api.delivered).toHaveLength(1)
    expect(await cancel(api, id)).toMatchObject(invalidState)
    go()
    await expect.poll(async () => (await email(api, id)).status).toBe('delivered')
    expect(await eventsOf(api, id)).toEqual(['email.delivered', 'email.sent', 'email.queued'])
  })

  test('and the queue never both have an email', async () => {
    const api = await startEmailApi()
    for (let round = 0; round < 20; round++) {
      const id = await scheduled(api, { to: `u${round}@r.example` })
      api.clock.advance(hour)
      const answer = await cancel(api, id)
      await api.idle()
      const isCanceled = answer.status === 200
      expect(answer.status).toBe(isCanceled ? 200 : 409)
      await expect.poll(async () => (await email(api, id)).status).toBe(isCanceled ? 'canceled' : 'delivered')
      expect(api.delivered.some(({ messageId }) => messageId === id)).toBe(!isCanceled)
    }
  })
})

describe('rescheduling', () => {
  test('moves the time of sending, and what counts from it', async () => {
    const api = await startEmailApi()
    const id = await scheduled(api, { to: ['a@r.example', 'b@s.example'], expires_in: 600 })
    const at = api.clock.now() + 3 * hour
    expect(await move(api, id, iso(at))).toMatchObject({ status: 200, body: { object: 'email', id } })
    expect(await email(api, id)).toMatchObject({
      status: 'scheduled',
      scheduled_at: iso(at),
      recipients: [{ next_attempt_at: iso(at) }, { next_attempt_at: iso(at) }],
    })
    expect(await api.db.read('select expires_at from recipient')).toEqual([{ expires_at: at + 600_000 }, { expires_at: at + 600_000 }])
    api.clock.advance(2 * hour)
    await api.idle()
    expect((await email(api, id)).status).toBe('scheduled')
    expect(await move(api, id, iso(api.clock.now() + 60_000))).toMatchObject({ status: 200 })
    api.clock.advance(60_000)
    await expect.poll(async () => (await email(api, id)).status).toBe('delivered')
    expect(await move(api, id, iso(at + hour))).toMatchObject(invalidState)
  })

  test('to a time gone by sends at once', async () => {
    const api = await startEmailApi()
    const id = await scheduled(api)
    expect(await move(api, id, '2020-01-01T00:00:00Z')).toMatchObject({ status: 200 })
    await expect.poll(async () => await email(api, id)).toMatchObject({ status: 'delivered', scheduled_at: null })
  })

  test('works while every recipient is scheduled or was set aside, and at no other time', async () => {
    const api = await startEmailApi()
    const may = (state: string) => state === 'scheduled' || state === 'suppressed' || state === 'canceled'
    for (const first of recipientStates) {
      for (const second of recipientStates) {
        const id = await inStates(api, first, second)
        const before = await recipientsOf(api, id)
        const answer = await move(api, id, iso(api.clock.now() + 2 * hour))
        const isDone = may(first) && may(second) && (first === 'scheduled' || second === 'scheduled')
        expect(answer, `${first}, ${second}`).toMatchObject(isDone ? { status: 200 } : invalidState)
        if (!isDone) expect(await recipientsOf(api, id)).toEqual(before)
      }
    }
  }, 180_000)

  test.each([
    ['tomorrow', 'validation_error', 'invalid_format'],
    ['2026-11-21', 'validation_error', 'invalid_format'],
    ['2026-12-21T06:00:01Z', 'validation_error', 'too_large'],
    [null, 'validation_error', 'invalid_type'],
    [undefined, 'missing_required_field', 'missing'],
    [5, 'validation_error', 'invalid_type'],
  ])('to %s is refused', async (at, name, code) => {
    const api = await startEmailApi()
    const id = await scheduled(api)
    const before = await email(api, id)
    expect(await move(api, id, at)).toMatchObject({ status: 422, body: { name, errors: [{ field: 'scheduled_at', code }] } })
    expect(await email(api, id)).toEqual(before)
  })
})

describe('sending again', () => {
  test('goes to those whom the email did not reach, with the same content', async () => {
    const api = await startEmailApi()
    api.outcomes.set('b@r.example', [refused])
    api.outcomes.set('c@r.example', [refused])
    const content = Buffer.alloc(600_000, 'y').toString('base64')
    const sent = await api.send({
      ...plain,
      from: '"Ä, B" <app@sender.example>',
      to: ['a@r.example', 'b@r.example'],
      bcc: 'c@r.example',
      tags: { kind: 'x' },
      metadata: { order: '7' },
      attachments: [{ filename: 'a.bin', content }],
      expires_in: 3600,
    })
    const id = idOf(sent)
    await api.idle()
    expect((await email(api, id)).status).toBe('partially_delivered')

    const answer = await resend(api, id)
    expect(answer).toMatchObject({
      status: 200,
      body: {
        object: 'email',
        status: 'queued',
        recipients: [
          { email: 'b@r.example', type: 'to' },
          { email: 'c@r.example', type: 'bcc' },
        ],
      },
    })
    const again = idOf(answer)
    expect(again).not.toBe(id)
    await expect.poll(async () => (await email(api, again)).status).toBe('delivered')
    const [first, second] = await Promise.all([email(api, id), email(api, again)])
    for (const field of ['from', 'to', 'subject', 'html', 'text', 'tags', 'metadata', 'message_id', 'domain_id', 'source'])
      expect(second[field], field).toEqual(first[field])
    const bytes = (of: string) => api.db.read('select chunk, bytes from content where message_id = :of order by chunk', { of })
    expect(await bytes(again)).toEqual(await bytes(id))
    expect(await api.db.read('select * from upload')).toEqual([])
    expect(await api.db.read('select expires_at from recipient where message_id = :again', { again })).toEqual(
      Array(2).fill({ expires_at: api.clock.now() + hour }),
    )
    expect(await resend(api, again)).toMatchObject(invalidState)
  })

  test('is refused while nobody would get it, because they are on the suppression list', async () => {
    const api = await startEmailApi()
    api.outcomes.set('b@r.example', [unknown])
    const id = idOf(await api.send({ ...plain, to: 'b@r.example' }))
    await api.idle()
    expect(await resend(api, id)).toMatchObject(invalidState)
    await api.db.write([{ sql: 'delete from suppression' }])
    expect(await resend(api, id)).toMatchObject({ status: 200, body: { status: 'queued' } })
  })

  test('is refused where nobody failed', async () => {
    const api = await startEmailApi()
    for (const state of recipientStates.filter((name) => !['bounced', 'failed', 'suppressed'].includes(name))) {
      const id = await inStates(api, state, 'delivered')
      expect(await resend(api, id), state).toMatchObject(invalidState)
    }
    for (const state of ['bounced', 'failed', 'suppressed']) {
      const id = await inStates(api, state, 'delivered')
      expect(await resend(api, id), state).toMatchObject({ status: 200, body: { recipients: [{ email: 'a@r.example' }] } })
    }
  })

  test('is refused where the content is no longer kept, in part or at all', async () => {
    const api = await startEmailApi()
    const id = await inStates(api, 'bounced', 'bounced')
    await api.db.write([{ sql: 'update message set size = size + 3000000 where id = :id', params: { id } }])
    expect(await resend(api, id)).toMatchObject(invalidState)
    await api.db.write([{ sql: 'delete from content where message_id = :id', params: { id } }])
    expect(await resend(api, id)).toMatchObject(invalidState)
    expect(await api.db.read('select count(*) as n from message')).toEqual([{ n: 1 }])
    expect(await api.db.read('select * from upload')).toEqual([])
    expect(await api.db.read('select * from content')).toEqual([])
  })

  test('passes through the same door as everything', async () => {
    const api = await startEmailApi()
    const id = await inStates(api, 'bounced', 'bounced')
    const other = await api.token({ permission: 'sending_access', domainId: `dom_${'9'.repeat(26)}` })
    expect(await resend(api, id, {}, other)).toMatchObject({ status: 403, body: { name: 'restricted_api_key' } })
    expect(await api.db.read('select * from upload')).toEqual([])
    const key = { 'idempotency-key': 'k' }
    const [first, second] = [await resend(api, id, key), await resend(api, id, key)]
    expect(first.status).toBe(200)
    expect(second.text).toBe(first.text)
    expect(second.headers.get('idempotency-replayed')).toBe('true')
    expect(await api.db.read('select * from upload')).toEqual([])
    expect(await api.db.read('select count(*) as n from message')).toEqual([{ n: 2 }])
    const otherEmail = await inStates(api, 'bounced', 'bounced')
    expect(await resend(api, otherEmail, key)).toMatchObject({ status: 409, body: { name: 'invalid_idempotent_request' } })
  })

  test('works while a deferral of the first attempt is still waiting for others', async () => {
    const api = await startEmailApi()
    api.outcomes.set('a@r.example', [busy])
    api.outcomes.set('b@r.example', [refused])
    const id = idOf(await api.send({ ...plain, to: ['a@r.example', 'b@r.example'] }))
    await api.idle()
    expect(await resend(api, id)).toMatchObject({ status: 200, body: { recipients: [{ email: 'b@r.example' }] } })
  })
})

test("another account's emails, and those of the other mode, do not exist", async () => {
  const api = await startEmailApi()
  const id = await scheduled(api)
  const sandboxKey = await api.token({ sandbox: true })
  const own = idOf(await api.send({ ...plain, scheduled_at: iso(api.clock.now() + hour) }, { token: sandboxKey }))
  const stranger = await api.token({ account: 'other' })
  for (const [token, strange] of [
    [stranger, id],
    [stranger, own],
    [sandboxKey, id],
    [api.key, own],
    [api.key, `em_${'0'.repeat(26)}`],
    [api.key, 'x'],
  ] as const) {
    const before = await api.db.read('select * from recipient')
    for (const answer of [
      await cancel(api, strange, token),
      await move(api, strange, iso(api.clock.now() + 2 * hour), token),
      await resend(api, strange, {}, token),
      await api.get(`/api/emails/${strange}/attachments`, token),
      await api.get(`/api/emails/${strange}/attachments/1`, token),
      await api.get(`/api/emails/${strange}/attachments/1/content`, token),
    ]) {
      expect(answer).toMatchObject(notFound)
    }
    expect(await api.db.read('select * from recipient')).toEqual(before)
  }
  expect(await cancel(api, own, sandboxKey)).toMatchObject({ status: 200 })
})

test('who may only read changes nothing', async () => {
  const api = await startEmailApi()
  const id = await scheduled(api)
  const token = await api.token({ permission: 'read_access' })
  for (const answer of [await cancel(api, id, token), await move(api, id, iso(api.clock.now()), token), await resend(api, id, {}, token)]) {
    expect(answer).toMatchObject({ status: 403, body: { name: 'restricted_api_key' } })
  }
  expect((await email(api, id)).status).toBe('scheduled')
})

test('a key of one domain changes nothing of what another one sends', async () => {
  const api = await startEmailApi()
  const id = await scheduled(api)
  const before = await api.db.read('select * from recipient')
  const others = await api.token({ permission: 'sending_access', domainId: `dom_${'9'.repeat(26)}` })
  for (const answer of [await cancel(api, id, others), await move(api, id, iso(api.clock.now()), others)]) {
    expect(answer).toMatchObject({ status: 403, body: { name: 'restricted_api_key' } })
  }
  expect(await api.db.read('select * from recipient')).toEqual(before)
  const own = await api.token({ permission: 'sending_access', domainId: senderDomainId })
  expect(await move(api, id, iso(api.clock.now() + 2 * hour), own)).toMatchObject({ status: 200 })
  expect(await cancel(api, id, own)).toMatchObject({ status: 200 })
  const rehearsed = idOf(
    await api.send({ ...plain, scheduled_at: iso(api.clock.now() + hour) }, { token: await api.token({ sandbox: true }) }),
  )
  const rehearsing = await api.token({ permission: 'sending_access', domainId: senderDomainId, sandbox: true })
  expect(await cancel(api, rehearsed, rehearsing)).toMatchObject({ status: 200 })
})
