import { expect, test } from 'vitest'
import { startPeopleApi, type PeopleApi } from '../../support/people-api.ts'

const client = { address: '192.0.2.1', userAgent: 'test' }

/** A user with a login whose password was just found to be right. */
async function begun(): Promise<{ api: PeopleApi; id: string; email: string; password: string; late(): Promise<unknown> }> {
  const api = await startPeopleApi()
  const { id, email, password } = await api.addUser()
  const verified = await api.people.login.verify({ email, password }, { address: client.address, device: null })
  return { api, id, email, password, late: () => api.sessions.begin(verified, client) }
}

test('a login whose password is changed before its session begins gets none', async () => {
  const { api, id, email, password, late } = await begun()
  const headers = { cookie: (await api.login(email, password)).cookie }
  const changed = await api.request('POST', '/session/password', { headers, body: { password, new_password: 'another password' } })
  expect(changed.status).toBe(200)
  await expect(late()).rejects.toMatchObject({ code: 'invalid_session' })
  expect(await api.sessions.list(id)).toHaveLength(1)
  expect((await api.login(email, 'another password')).status).toBe(200)
})

test('no more does one whose user takes a new invitation meanwhile, nor does a change of the old password undo it', async () => {
  const { api, id, email, password, late } = await begun()
  const { users, login, passwords } = api.people
  const shown = await login.confirm({ id: 'ses_1', userId: id }, password)
  const { token } = await users.inviteAgain(id)
  await users.takeInvitation(token, 'the invited password')
  await expect(late()).rejects.toMatchObject({ code: 'invalid_session' })
  await expect(users.setPassword(id, await passwords.hash('a thief of sessions'), { shown })).rejects.toMatchObject({
    code: 'invalid_credentials',
  })
  expect((await api.login(email, 'a thief of sessions')).status).toBe(401)
  expect((await api.login(email, 'the invited password')).status).toBe(200)
})

test('while logins with the old password come all the time', async () => {
  const api = await startPeopleApi()
  const { id, email, password } = await api.addUser()
  const { cookie } = await api.login(email, password)
  let isOver = false
  const others = Array.from({ length: 4 }, async () => {
    while (!isOver) await api.login(email, password)
  })
  await expect.poll(async () => (await api.sessions.list(id)).length).toBeGreaterThan(4)
  await api.request('POST', '/session/password', { headers: { cookie }, body: { password, new_password: 'another password' } })
  isOver = true
  await Promise.all(others)
  expect(await api.sessions.list(id)).toHaveLength(1)
})

test('two changes of a user at the same moment are both made', async () => {
  const api = await startPeopleApi()
  await api.addUser({ operator: true })
  const { id } = await api.addUser({ operator: true, role: 'admin', email: 'bob@example.com' })
  const { users } = api.people
  await Promise.all([users.change(id, { operator: false }), users.change(id, { role: 'viewer' })])
  expect(users.get(id)).toMatchObject({ operator: false, role: 'viewer' })
  await users.load()
  expect(users.get(id)).toMatchObject({ operator: false, role: 'viewer' })
})
