import { roles } from '../../src/senders/account/permission.ts'
import { totpCode, totpStepAt } from '../../src/senders/account/totp.ts'
import { deleteUser } from '../../src/senders/account/user-changes.ts'
import type { StoredUser } from '../../src/senders/account/user.ts'
import { sessionCookie } from '../../src/api/resource/session-entry.ts'
import { authenticator } from './authenticator.ts'
import { fromBase32 } from './base32.ts'
import { exampleOf, type MakerServices, type Makers } from './fitting.ts'
import { made } from './owned-objects.ts'

/** Links as people get them, in a mail or from somebody else. */
export function links({ relay, call, next }: MakerServices): Makers {
  const { db, people } = relay.relay.services
  return {
    '/setup/{token}': async () => {
      // The link of the first day works until somebody owns the server.
      for (const { id } of people.users.list()) {
        await db.write(deleteUser(id))
        await people.sessions.endAll(id)
      }
      await people.users.load()
      return { parameters: { token: (await people.setupLink.renew()) ?? '' }, own: { email: `owner${next()}@people.example` } }
    },
    '/invite/{token}': async () => {
      const number = next()
      const invited = await made(call, '/api/users', { email: `invited${number}@people.example`, role: 'member' })
      const { invitation_url: url } = number % 2 === 0 ? invited : await made(call, `/api/users/${invited.id}/invitation`, undefined)
      return { parameters: { token: url.split('/').at(-1) } }
    },
    '/reset/{token}': async () => {
      const { user } = people.users.newUser({
        accountId: relay.relay.services.accounts.findAccount('test')!.id,
        email: `forgetful${next()}@people.example`,
        role: 'member',
        operator: false,
      })
      const forgetful = { ...user, password: await people.passwords.hash('correct horse battery'), status: 'active' as const }
      await people.users.add(forgetful, [])
      return { parameters: { token: people.resets.tokenFor(forgetful) } }
    },
    '/u/{token}': async () => {
      const html = '<a href="{{unsubscribe_url}}">No more</a>'
      const { id } = await made(call, '/api/emails', {
        from: 'app@sender.example',
        to: `reader${next()}@example.com`,
        subject: 'News',
        html,
        unsubscribe: true,
      })
      const { body } = await call('GET', `/api/emails/${id}`)
      return { parameters: { token: /\/u\/([^"]+)/.exec(body.html)?.[1] ?? '' } }
    },
  }
}

/** Somebody who is logged in; the password is that of the document's example. */
export function sessions({ relay, next, document }: MakerServices): Makers {
  const { accounts, clock, config, people } = relay.relay.services
  const { users } = people
  const shown = exampleOf(document, '/session') as { email: string; password: string }
  const accountId = accounts.findAccount('test')!.id
  let hash: Promise<string> | undefined
  const add = async (email = `user${next()}@people.example`): Promise<StoredUser> => {
    const { user } = users.newUser({ accountId, email, role: roles[next() % roles.length]!, operator: false })
    const added = { ...user, password: await (hash ??= people.passwords.hash(shown.password)), status: 'active' as const }
    await users.add(added, [])
    return added
  }
  const logIn = async (user: StoredUser) => {
    const { session, secret } = await people.sessions.begin(user, { address: '127.0.0.1', userAgent: 'generated' })
    const cookie = sessionCookie(config.baseUrl).give(secret).replace(/;.*/, '')
    return { id: session.id, fitting: { headers: { cookie }, own: { email: user.email, password: shown.password } } }
  }
  const code = async ({ id }: StoredUser): Promise<string> =>
    totpCode(fromBase32((await people.secondFactors.begin(id)).secret), totpStepAt(clock.now()))
  return {
    '/session': async () => (await logIn(await add())).fitting,
    'POST /session': async () => {
      const user = users.withEmail(shown.email).length > 0 ? await add() : await add(shown.email)
      return { own: { email: user.email, password: shown.password } }
    },
    '/session/all/{id}': async () => {
      const user = await add()
      return { ...(await logIn(user)).fitting, parameters: { id: (await logIn(user)).id } }
    },
    '/session/passkeys/{id}': async () => {
      const user = await add()
      const { id: sessionId, fitting } = await logIn(user)
      const device = authenticator(new URL(config.baseUrl).origin)
      const credential = device.create(await people.passkeys.registrationOptions(user, sessionId)) as never
      const { id } = await people.passkeys.register(user.id, sessionId, { name: 'Laptop', credential })
      return { ...fitting, parameters: { id } }
    },
    '/session/totp/confirm': async () => {
      const user = await add()
      const { fitting } = await logIn(user)
      return { ...fitting, own: { code: await code(user) } }
    },
    '/session/totp/remove': async () => {
      const user = await add()
      await people.secondFactors.confirm(user.id, await code(user))
      return (await logIn(user)).fitting
    },
  }
}
