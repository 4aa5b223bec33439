import { expect, test } from 'vitest'
import { startEmailApi } from '../../support/email-api.ts'

const plain = { from: 'App <app@sender.example>', to: 'user@recipient.example', subject: 'Hello', text: 'Hi', tags: { kind: 'test' } }
const tables = ['message', 'recipient', 'content', 'attempt', 'message_tag']

test('sandbox mail that has come to its end is deleted with all of it, and no other mail is', async () => {
  const api = await startEmailApi()
  const sandbox = await api.token({ sandbox: true })
  const foreign = await api.token({ account: 'other', sandbox: true })
  const live = await api.send(plain)
  const others = await api.send(plain, { token: foreign })
  for (let i = 0; i < 20; i++) await api.send({ ...plain, to: 'bounced@simulator.test' }, { token: sandbox })
  await api.idle()
  const scheduled = await api.send({ ...plain, scheduled_at: '2026-11-21T08:00:00Z' }, { token: sandbox })
  const emptied = await api.request('DELETE', '/api/emails', { token: sandbox })
  expect(emptied).toMatchObject({ status: 200, body: { object: 'emails', deleted: 20 } })
  const kept = [live.body.id, others.body.id, scheduled.body.id].map(String).toSorted()
  for (const table of tables) {
    const column = table === 'message' ? 'id' : 'message_id'
    const rows = await api.db.read<{ id: string }>(`select distinct ${column} as id from ${table} order by 1`)
    expect(kept, table).toEqual(expect.arrayContaining(rows.map(({ id }) => id)))
  }
  expect(await api.db.read('select id from message order by id')).toEqual(kept.map((id) => ({ id })))
  const told = await api.db.read<{ message_id: string }>('select distinct message_id from event')
  expect(told.map(({ message_id: id }) => id).toSorted()).toEqual(kept)
  expect((await api.get('/api/emails', sandbox)).body.data).toHaveLength(1)
})

test('one email is deleted, unless it still waits', async () => {
  const api = await startEmailApi()
  const token = await api.token({ sandbox: true })
  const first = await api.send(plain, { token })
  const second = await api.send(plain, { token })
  await api.idle()
  const remove = (id: unknown) => api.request('DELETE', `/api/emails/${id}`, { token })
  expect(await remove(first.body.id)).toMatchObject({ status: 200, body: { deleted: 1 } })
  expect(await remove(first.body.id)).toMatchObject({ status: 404, body: { name: 'not_found' } })
  expect((await api.get(`/api/emails/${second.body.id}`, token)).status).toBe(200)
  const later = await api.send({ ...plain, scheduled_at: '2026-11-21T08:00:00Z' }, { token })
  expect(await remove(later.body.id)).toMatchObject({ status: 409, body: { name: 'invalid_state' } })
})

test('live mail cannot be deleted', async () => {
  const api = await startEmailApi()
  const { body } = await api.send(plain)
  await api.idle()
  for (const path of ['/api/emails', `/api/emails/${body.id}`]) {
    expect(await api.request('DELETE', path, { token: api.key })).toMatchObject({ status: 403, body: { name: 'restricted_api_key' } })
  }
  expect((await api.get(`/api/emails/${body.id}`)).status).toBe(200)
})
