import { z } from 'zod'
import { smallBodyLimit } from '../operation/body-limits.ts'
import { originOf } from '../operation/caller.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { browserHeaders } from './session-entry.ts'
import { userResource } from './user-operations.ts'
import type { Needs } from './operation-services.ts'

type Services = Needs<'people' | 'entry' | 'resetRequests'>

const password = z.string().max(1000).describe('The current password, so that an unlocked screen is not enough.')
const secretAnswer = z
  .object({
    object: z.literal('totp'),
    secret: z.string().describe('Base32, to type into an authenticator app.'),
    uri: z.string().describe('The same as an `otpauth:` URI, to show as a QR code.'),
  })
  .meta({ id: 'TotpSecret' })
const codesAnswer = z
  .object({ object: z.literal('totp'), recovery_codes: z.array(z.string()).describe('Shown only once. Each code works once.') })
  .meta({ id: 'RecoveryCodes' })

const askedAnswer = z.object({ object: z.literal('password_reset_request') }).meta({ id: 'PasswordResetRequest' })

const at = operationsAt({ path: '/session', tag: 'Session', permission: null, headers: browserHeaders })
const refuses = ['invalid_session', 'foreign_origin', 'invalid_credentials', 'rate_limit_exceeded', 'service_unavailable'] as const

/** What users change about how they log in. */
export const passwordOperations = (services: Services): Operation[] => [resetOperation(services), ...ownLoginOperations(services)]

const resetOperation = ({ entry, resetRequests }: Services): Operation =>
  at.post('session.request_password_reset', '/password/reset', 'Ask for a new password', {
    description:
      'If there is a user with this address, a link is sent there that works once, for 30 minutes. The answer is the same for every ' +
      'address. The second factor stays. Where this server sends no mail, `sterna user reset` prints a link.',
    body: { schema: z.object({ email: z.string().max(320) }), limit: smallBodyLimit, example: { email: 'ann@example.com' } },
    answer: ['The request was taken.', askedAnswer, 202],
    refuses: ['foreign_origin', 'invalid_state', 'rate_limit_exceeded'],
    handle: async (call) => {
      entry.checkOrigin(call)
      call.reply.set('Cache-Control', 'no-store')
      await resetRequests.take({ email: call.body.email, ...originOf(call.caller) })
      return { object: 'password_reset_request' as const }
    },
  })

const ownLoginOperations = ({ people, entry }: Services): Operation[] => [
  at.post('session.change_password', '/password', 'Change your password', {
    description: 'Ends all your sessions and what is left of an invitation. A new session begins; the response sets its cookie.',
    body: {
      schema: z.object({ password, new_password: z.string().max(1000) }),
      limit: smallBodyLimit,
      example: { password: 'correct horse battery', new_password: 'another horse staple' },
    },
    answer: ['You.', userResource.schema],
    refuses: refuses,
    handle: async (call) => {
      const { session, user } = await entry.changing(call)
      const shown = await people.login.confirm(session, call.body.password)
      const hash = await people.users.hashFor(user, call.body.new_password)
      const changed = await people.users.setPassword(user.id, hash, { shown })
      entry.tellChange(call, user, 'password')
      await people.sessions.endAll(user.id)
      // Others may know the secret of this one too.
      await entry.begin(call, changed)
      await entry.record(call, user, { operation: 'session.change_password', objectId: user.id })
      return userResource.answer(people.users.get(user.id))
    },
  }),
  at.post('session.begin_totp', '/totp', 'Start the setup of a second factor', {
    description: 'It is required once you have confirmed a code from it.',
    body: { schema: z.object({ password }), limit: smallBodyLimit, example: { password: 'correct horse battery' } },
    answer: ['The secret for the app.', secretAnswer],
    refuses: [...refuses, 'invalid_state'],
    handle: async (call) => {
      const { session, user } = await entry.changing(call)
      await people.login.confirm(session, call.body.password)
      return { object: 'totp' as const, ...(await people.secondFactors.begin(user.id)) }
    },
  }),
  at.post('session.confirm_totp', '/totp/confirm', 'Turn the second factor on', {
    body: {
      schema: z.object({ code: z.string().max(100).describe('The code in the app.') }),
      limit: smallBodyLimit,
      example: { code: '123456' },
    },
    answer: ['Recovery codes for when the app is lost.', codesAnswer],
    refuses: [...refuses, 'invalid_state'],
    handle: async (call) => {
      const { user } = await entry.changing(call)
      const codes = await people.secondFactors.confirm(user.id, call.body.code)
      entry.tellChange(call, user, 'second_factor_added')
      await entry.record(call, user, { operation: 'session.confirm_totp', objectId: user.id })
      return { object: 'totp' as const, recovery_codes: codes }
    },
  }),
  at.post('session.remove_totp', '/totp/remove', 'Turn the second factor off', {
    body: { schema: z.object({ password }), limit: smallBodyLimit, example: { password: 'correct horse battery' } },
    answer: ['You.', userResource.schema],
    refuses: refuses,
    handle: async (call) => {
      const { session, user } = await entry.changing(call)
      await people.login.confirm(session, call.body.password)
      await people.secondFactors.remove(user.id)
      entry.tellChange(call, user, 'second_factor_removed')
      await entry.record(call, user, { operation: 'session.remove_totp', objectId: user.id })
      return userResource.answer(people.users.get(user.id))
    },
  }),
]
