import { expect, test } from 'vitest'
import { totpCode, totpStepAt } from '../../../src/senders/account/totp.ts'
import { authenticator, type Authenticator } from '../../support/authenticator.ts'
import { fromBase32 } from '../../support/base32.ts'
import { startPeopleApi, type PeopleApi } from '../../support/people-api.ts'

const ours = 'https://mail.example.com'
const minute = 60_000

/** A user who is logged in, with a device. */
async function start() {
  const api = await startPeopleApi()
  const ann = await api.addUser()
  const headers = { cookie: (await api.login(ann.email, ann.password)).cookie }
  return { api, ann, headers, device: authenticator(ours) }
}

const creationOptions = async (api: PeopleApi, headers: Record<string, string>, password: string) =>
  (await api.request('POST', '/session/passkeys/options', { headers, body: { password } })).body['options'] as any

const keep = (api: PeopleApi, headers: Record<string, string>, credential: object, name = 'Laptop') =>
  api.request('POST', '/session/passkeys', { headers, body: { name, credential } })

async function makePasskey({ api, ann, headers, device }: Awaited<ReturnType<typeof start>>): Promise<string> {
  const made = await keep(api, headers, device.create(await creationOptions(api, headers, ann.password)))
  expect(made).toMatchObject({ status: 201, body: { object: 'passkey', name: 'Laptop', last_used_at: null } })
  return String(made.body['id'])
}

/** What a browser without a session gets, with its cookie. */
async function askToLogIn(api: PeopleApi): Promise<{ options: any; cookie: string }> {
  const answer = await api.request('POST', '/session/passkey/options')
  return { options: answer.body['options'], cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' }
}

const show = (api: PeopleApi, credential: object, cookie: string, headers: Record<string, string> = {}) =>
  api.request('POST', '/session/passkey', { headers: { cookie, ...headers }, body: { credential } })

async function logIn(api: PeopleApi, device: Authenticator, flaws = {}) {
  const { options, cookie } = await askToLogIn(api)
  return show(api, device.get(options, flaws), cookie)
}

test('a passkey is made with the password shown, and lets its user in without one, or a second factor', async () => {
  const visit = await start()
  const { api, ann, headers, device } = visit
  expect(await api.request('POST', '/session/passkeys/options', { headers, body: { password: 'wrong password' } })).toMatchObject({
    status: 401,
    body: { name: 'invalid_credentials' },
  })
  await makePasskey(visit)
  const begun = await api.request('POST', '/session/totp', { headers, body: { password: ann.password } })
  const code = totpCode(fromBase32(String(begun.body['secret'])), totpStepAt(api.clock.now()))
  expect((await api.request('POST', '/session/totp/confirm', { headers, body: { code } })).status).toBe(200)
  expect(await api.login(ann.email, ann.password)).toMatchObject({ status: 401, body: { name: 'second_factor_required' } })
  const login = await logIn(api, device)
  expect(login).toMatchObject({ status: 200, body: { object: 'session', user: { email: ann.email } } })
  expect(login.headers.get('set-cookie')).toMatch(/^__Host-sterna_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure,/)
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? ''
  expect((await api.request('POST', '/session/token', { headers: { cookie } })).status).toBe(200)
  const { body } = await api.request('GET', '/session/passkeys', { headers })
  expect(body['data']).toMatchObject([{ name: 'Laptop', last_used_at: new Date(api.clock.now()).toISOString() }])
})

test('a passkey that is being made when the password changes is not kept, even by a request that was let in before', async () => {
  const { api, ann, headers, device } = await start()
  const sessionId = String((await api.request('GET', '/session', { headers })).body['id'])
  const credential = device.create(await creationOptions(api, headers, ann.password))
  const body = { password: ann.password, new_password: 'another horse' }
  const changed = await api.request('POST', '/session/password', { headers, body })
  const anew = { cookie: changed.headers.get('set-cookie')?.split(';')[0] ?? '' }
  expect((await keep(api, headers, credential)).status).toBe(401)
  expect((await keep(api, anew, credential)).status).toBe(401)
  const late = api.people.passkeys.register(ann.id, sessionId, { name: 'Laptop', credential: credential as never })
  await expect(late).rejects.toMatchObject({ code: 'invalid_session' })
  expect((await api.request('GET', '/session/passkeys', { headers: anew })).body['data']).toEqual([])
})

test('both kinds of options ask the device to check who uses it, for this host alone', async () => {
  const { api, ann, headers, device } = await start()
  const creation = await creationOptions(api, headers, ann.password)
  expect(creation).toMatchObject({
    rp: { id: 'mail.example.com' },
    user: { name: ann.email },
    attestation: 'none',
    authenticatorSelection: { userVerification: 'required', residentKey: 'required' },
  })
  await keep(api, headers, device.create(creation))
  expect((await creationOptions(api, headers, ann.password)).excludeCredentials).toMatchObject([{ id: device.credentialId }])
  const { options, cookie } = await askToLogIn(api)
  expect(options).toMatchObject({ rpId: 'mail.example.com', userVerification: 'required' })
  expect(options.allowCredentials ?? []).toEqual([])
  expect(cookie).toMatch(/^__Host-sterna_passkey=[\w-]{43}$/)
})

test.each([
  ['another site', { origin: 'https://evil.example' }],
  ['another port', { origin: `${ours}:8443` }],
  ['another host', { rpId: 'evil.example' }],
  ['a device that checked nobody', { isVerified: false }],
  ['another key', { isForged: true }],
  ['a challenge of its own', { challenge: Buffer.alloc(54).toString('base64url') }],
  ['no challenge', { challenge: '' }],
  ['another ceremony', { type: 'webauthn.create' }],
])('an answer from %s lets nobody in', async (_, flaws) => {
  const visit = await start()
  await makePasskey(visit)
  expect(await logIn(visit.api, visit.device, flaws)).toMatchObject({ status: 401, body: { name: 'invalid_credentials' } })
  expect((await logIn(visit.api, visit.device)).status).toBe(200)
})

test.each([
  ['another site', { origin: 'https://evil.example' }],
  ['another host', { rpId: 'evil.example' }],
  ['a device that checked nobody', { isVerified: false }],
  ['a challenge of its own', { challenge: Buffer.alloc(54).toString('base64url') }],
  ['another ceremony', { type: 'webauthn.get' }],
])('a passkey from %s is not kept', async (_, flaws) => {
  const { api, ann, headers, device } = await start()
  const options = await creationOptions(api, headers, ann.password)
  expect(await keep(api, headers, device.create(options, flaws))).toMatchObject({ status: 401, body: { name: 'invalid_credentials' } })
  expect((await api.request('GET', '/session/passkeys', { headers })).body['data']).toEqual([])
})

test('a challenge works once, for five minutes, in the browser that it was made for', async () => {
  const visit = await start()
  const { api, ann, headers, device } = visit
  await makePasskey(visit)
  const first = await askToLogIn(api)
  const answer = device.get(first.options)
  expect((await show(api, answer, '')).status).toBe(401)
  const second = await askToLogIn(api)
  expect((await show(api, device.get(second.options), first.cookie)).status).toBe(401)
  const third = await askToLogIn(api)
  const shown = device.get(third.options)
  expect((await show(api, shown, third.cookie)).status).toBe(200)
  expect((await show(api, shown, third.cookie)).status).toBe(401)
  expect((await show(api, device.get(third.options), third.cookie)).status).toBe(401)
  const late = await askToLogIn(api)
  api.clock.advance(5 * minute)
  expect((await show(api, device.get(late.options), late.cookie)).status).toBe(401)

  const spare = authenticator(ours)
  const options = await creationOptions(api, headers, ann.password)
  const elsewhere = { cookie: (await api.login(ann.email, ann.password)).cookie }
  expect((await keep(api, elsewhere, spare.create(options))).status).toBe(401)
  const kept = await creationOptions(api, headers, ann.password)
  expect((await keep(api, headers, spare.create(kept))).status).toBe(201)
  expect((await keep(api, headers, authenticator(ours).create(kept))).status).toBe(401)
  // A challenge for a login makes no passkey.
  const { options: request, cookie } = await askToLogIn(api)
  const crossed = authenticator(ours).create({ ...kept, challenge: request.challenge })
  expect((await keep(api, { cookie: `${headers.cookie}; ${cookie}` }, crossed)).status).toBe(401)
})

test('a counter that does not grow is that of a copy', async () => {
  const visit = await start()
  await makePasskey(visit)
  expect((await logIn(visit.api, visit.device, { counter: 10 })).status).toBe(200)
  expect((await logIn(visit.api, visit.device, { counter: 10 })).status).toBe(401)
  expect((await logIn(visit.api, visit.device, { counter: 9 })).status).toBe(401)
  expect((await logIn(visit.api, visit.device, { counter: 11 })).status).toBe(200)
  const uncounted = { ...visit, device: authenticator(ours) }
  const options = await creationOptions(visit.api, visit.headers, visit.ann.password)
  await keep(visit.api, visit.headers, uncounted.device.create(options, { counter: 0 }))
  for (let login = 0; login < 2; login++) expect((await logIn(visit.api, uncounted.device, { counter: 0 })).status).toBe(200)
})

test('a passkey is renamed and removed by its user alone, and goes with its user', async () => {
  const visit = await start()
  const { api, headers, device } = visit
  const id = await makePasskey(visit)
  const bob = await api.addUser()
  const bobs = { cookie: (await api.login(bob.email, bob.password)).cookie }
  const path = `/session/passkeys/${id}`
  expect((await api.request('PATCH', path, { headers: bobs, body: { name: 'mine' } })).status).toBe(404)
  expect((await api.request('DELETE', path, { headers: bobs })).status).toBe(404)
  expect(await api.request('PATCH', path, { headers, body: { name: 'Phone' } })).toMatchObject({ status: 200, body: { id, name: 'Phone' } })
  expect((await logIn(api, device)).status).toBe(200)
  expect(await api.request('DELETE', path, { headers })).toMatchObject({ status: 200, body: { id, deleted: true } })
  expect((await logIn(api, device)).status).toBe(401)
  // Somebody who lost everything gets a link: what was lost lets nobody in any more.
  const lost = authenticator(ours)
  await keep(api, headers, lost.create(await creationOptions(api, headers, visit.ann.password)))
  const { token } = await api.people.users.inviteAgain(visit.ann.id)
  await api.people.users.takeInvitation(token, 'another horse staple')
  expect((await logIn(api, lost)).status).toBe(401)
  expect(await api.db.read('select id from passkey')).toEqual([])
})

test('after twenty failures a network must wait', async () => {
  const visit = await start()
  await makePasskey(visit)
  for (let tries = 0; tries < 20; tries++) expect((await logIn(visit.api, visit.device, { isForged: true })).status).toBe(401)
  const refused = await logIn(visit.api, visit.device)
  expect(refused).toMatchObject({ status: 429, body: { name: 'rate_limit_exceeded' } })
  visit.api.clock.advance(15 * minute)
  expect((await logIn(visit.api, visit.device)).status).toBe(200)
})
