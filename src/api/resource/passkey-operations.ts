import { z } from 'zod'
import { randomToken } from '../../senders/account/link-token.ts'
import type { Passkey } from '../../senders/account/passkeys.ts'
import { smallBodyLimit } from '../operation/body-limits.ts'
import { originOf } from '../operation/caller.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { listOf, wholeList } from '../operation/page.ts'
import { deletedAnswer, resource, time, timeOrNull } from '../operation/resource.ts'
import { browserHeaders } from './session-entry.ts'
import { logIn, sessionResource } from './session-operations.ts'
import type { Needs } from './operation-services.ts'

type Services = Needs<'people' | 'entry' | 'refusedLogins'>

export const passkeyResource = resource<Passkey>('Passkey')({
  object: 'passkey',
  id: z.string(),
  name: z.string(),
  created_at: time(),
  last_used_at: timeOrNull(),
})
const removedAnswer = deletedAnswer('passkey', 'DeletedPasskey')

const name = z.string().trim().min(1).max(100).describe('Such as the device that it is on.')
const password = z.string().max(1000).describe('The current password, so that an unlocked screen is not enough.')

const base64url = z
  .string()
  .max(8000)
  .regex(/^[\w-]*$/)
const credentialFields = {
  id: base64url,
  rawId: base64url,
  type: z.literal('public-key'),
  authenticatorAttachment: z.enum(['platform', 'cross-platform']).optional(),
  clientExtensionResults: z.record(z.string(), z.unknown()).default({}),
}
const newCredential = z
  .object({
    ...credentialFields,
    response: z.object({
      clientDataJSON: base64url,
      attestationObject: base64url,
      transports: z.array(z.string().max(20)).max(10).optional(),
    }),
  })
  .describe('A `RegistrationResponseJSON`: what `navigator.credentials.create` gave, by `toJSON` (WebAuthn 5.1.8).')
const shownCredential = z
  .object({
    ...credentialFields,
    response: z.object({ clientDataJSON: base64url, authenticatorData: base64url, signature: base64url, userHandle: base64url.optional() }),
  })
  .describe('An `AuthenticationResponseJSON`: what `navigator.credentials.get` gave, by `toJSON` (WebAuthn 5.1.8).')

const optionsFor = <const Kind extends string>(object: Kind, parser: string, id: string) =>
  z.object({ object: z.literal(object), options: z.record(z.string(), z.unknown()).describe(`For \`${parser}\`.`) }).meta({ id })
const creationAnswer = optionsFor('passkey_creation', 'parseCreationOptionsFromJSON', 'PasskeyCreation')
const requestAnswer = optionsFor('passkey_request', 'parseRequestOptionsFromJSON', 'PasskeyRequest')

const exampleFields = { id: 'AQIDBA', rawId: 'AQIDBA', type: 'public-key', clientExtensionResults: {} }
const newExample = { ...exampleFields, response: { clientDataJSON: 'e30', attestationObject: 'oA' } }
const shownExample = { ...exampleFields, response: { clientDataJSON: 'e30', authenticatorData: 'AQ', signature: 'AQ' } }

const at = operationsAt({ path: '/session', tag: 'Session', permission: null, headers: browserHeaders })
const refuses = ['invalid_session', 'foreign_origin'] as const

/** `/session/passkeys`: the passkeys of the user, and how one logs in with them. */
export const passkeyOperations = (services: Services): Operation[] => [
  ...registeringOperations(services),
  ...keptOperations(services),
  at.post('session.begin_passkey_login', '/passkey/options', 'Start to log in with a passkey', {
    answer: ['What the browser needs, for five minutes. It sets a cookie.', requestAnswer],
    refuses: ['foreign_origin', 'invalid_state'],
    handle: async (call) => {
      const { people, entry } = services
      entry.checkOrigin(call)
      call.reply.set('Cache-Control', 'no-store')
      const browser = randomToken()
      const options = await people.passkeys.loginOptions(browser)
      call.reply.set('Set-Cookie', entry.passkeyCookie.give(browser))
      return { object: 'passkey_request' as const, options: { ...options } }
    },
  }),
  at.post('session.create_by_passkey', '/passkey', 'Log in with a passkey', {
    description: 'Asks for no second factor: the device has checked who uses it. The response sets the session cookie.',
    body: { schema: z.object({ credential: shownCredential }), limit: smallBodyLimit, example: { credential: shownExample } },
    answer: ['The session.', sessionResource.schema],
    refuses: ['invalid_credentials', 'invalid_session', 'foreign_origin', 'invalid_state', 'rate_limit_exceeded'],
    handle: async (call) => {
      const { people, entry } = services
      entry.checkOrigin(call)
      const browser = entry.passkeyCookie.read(call.headers.cookie) ?? ''
      const verified = people.passkeys.verify(call.body.credential as never, { browser, address: originOf(call.caller).address })
      return logIn(call, 'session.create_by_passkey', verified, services)
    },
  }),
]

const registeringOperations = ({ people, entry }: Services): Operation[] => [
  at.post('session.begin_passkey', '/passkeys/options', 'Start to make a passkey', {
    body: { schema: z.object({ password }), limit: smallBodyLimit, example: { password: 'correct horse battery' } },
    answer: ['What the browser needs, for five minutes.', creationAnswer],
    refuses: [...refuses, 'invalid_credentials', 'invalid_state', 'rate_limit_exceeded', 'service_unavailable'],
    handle: async (call) => {
      const { session, user } = await entry.changing(call)
      await people.login.confirm(session, call.body.password)
      const options = await people.passkeys.registrationOptions(people.users.get(user.id), session.id)
      return { object: 'passkey_creation' as const, options: { ...options } }
    },
  }),
  at.post('session.create_passkey', '/passkeys', 'Keep a passkey', {
    body: {
      schema: z.object({ name, credential: newCredential }),
      limit: smallBodyLimit,
      example: { name: 'Laptop', credential: newExample },
    },
    answer: ['The passkey.', passkeyResource.schema, 201],
    refuses: [...refuses, 'invalid_credentials', 'invalid_state'],
    handle: async (call) => {
      const { session, user } = await entry.changing(call)
      const passkey = await people.passkeys.register(user.id, session.id, {
        name: call.body.name,
        credential: call.body.credential as never,
      })
      entry.tellChange(call, user, 'passkey_added')
      await entry.record(call, user, { operation: 'session.create_passkey', objectId: passkey.id, fields: ['name'] })
      return passkeyResource.answer(passkey)
    },
  }),
]

const keptOperations = ({ people, entry }: Services): Operation[] => [
  at.get('session.list_passkeys', '/passkeys', 'List your passkeys', {
    answer: ['All of them, oldest first.', listOf(passkeyResource.schema)],
    refuses: ['invalid_session'],
    handle: async (call) => {
      const { user } = await entry.current(call)
      return wholeList((await people.passkeys.list(user.id)).map(passkeyResource.answer))
    },
  }),
  at.patch('session.update_passkey', '/passkeys/{id}', 'Rename a passkey', {
    body: { schema: z.object({ name }), limit: smallBodyLimit, example: { name: 'Phone' } },
    answer: ['The passkey.', passkeyResource.schema],
    refuses: [...refuses, 'not_found'],
    handle: async (call) => {
      const { user } = await entry.changing(call)
      const passkey = await people.passkeys.rename(user.id, call.params.id, call.body.name)
      await entry.record(call, user, { operation: 'session.update_passkey', objectId: passkey.id, fields: ['name'] })
      return passkeyResource.answer(passkey)
    },
  }),
  at.remove('session.delete_passkey', '/passkeys/{id}', 'Remove a passkey', {
    answer: ['Nobody logs in with it any more.', removedAnswer],
    refuses: [...refuses, 'not_found'],
    handle: async (call) => {
      const { user } = await entry.changing(call)
      const id = call.params.id
      await people.passkeys.remove(user.id, id)
      entry.tellChange(call, user, 'passkey_removed')
      await entry.record(call, user, { operation: 'session.delete_passkey', objectId: id })
      return { object: 'passkey' as const, id, deleted: true as const }
    },
  }),
]
