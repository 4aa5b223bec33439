import { z } from 'zod'
import type { StoredUser } from '../../senders/account/user.ts'
import { SternaError } from '../../platform/errors.ts'
import type { CallTo } from '../operation/call.ts'
import { RawAnswer } from '../operation/raw-answer.ts'
import { entryPage, refusalPage, type EntryPage, type PageCall } from './entry-page.ts'
import { entryTexts } from './entry-texts.ts'
import { requireForm } from './require-form.ts'
import { wantsPage } from '../operation/preference.ts'
import { smallBodyLimit } from '../operation/body-limits.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import type { LoginChange } from '../../notify/password-reset/compose-change-mail.ts'
import { browserHeaders } from './session-entry.ts'
import type { Needs } from './operation-services.ts'

type Services = Needs<'people' | 'entry' | 'dashboardPath'>

/** A link that lets somebody in once. */
interface EntryLink {
  path: `/${string}/{token}`
  /** What comes before the verb in the ids of its two operations. */
  id: 'setup' | 'invite' | 'reset'
  summary: string
  /** The page of the dashboard that is shown then. */
  next: string
  /** Whether its user is logged in then. */
  logsIn: boolean
  /**
   * The address of whom it is for; null: the page asks for it.
   * @throws SternaError `not_found` where the link is over
   */
  emailOf(token: string): string | null | Promise<string | null>
  /** @throws SternaError if the link no longer works, or the form is invalid */
  use(token: string, form: { email: string; password: string }): Promise<StoredUser>
  /** What it changes for somebody who had a password before; null for others. */
  changes?(token: string): LoginChange | null
}

const formSchema = z.object({ email: z.string(), password: z.string() })
const mediaType = 'text/html'
const pageHeaders = [...browserHeaders, 'accept', 'accept-language', 'content-type'] as const
const stateAnswer = z
  .object({
    object: z.literal('state'),
    owner: z.boolean(),
    passkey_host: z.string().nullable().describe('The host name at which passkeys work; null where they cannot.'),
  })
  .meta({ id: 'SetupState' })

/** `/setup/…`, `/invite/…` and `/reset/…`: the pages behind the links that let people in. */
export const entryOperations = (services: Services): Operation[] => [
  operationsAt({ path: '/session', tag: 'Session', permission: null }).get(
    'session.state',
    '/state',
    'Ask whether this server has an owner, and what one can log in with',
    {
      description:
        'For the page where people log in. Until there is an owner or a live key, each start of the server prints a set-up link.',
      answer: ['The answer, for anybody.', stateAnswer],
      handle: () => ({ object: 'state' as const, owner: services.people.setupLink.hasOwner, passkey_host: services.people.passkeys.host }),
    },
  ),
  ...linkOperations(services, {
    id: 'setup',
    path: '/setup/{token}',
    summary: 'the first owner',
    next: '/welcome',
    logsIn: true,
    async emailOf(token) {
      await services.people.setupLink.check(token)
      return null
    },
    use: (token, form) => services.people.setupLink.use(token, form),
  }),
  ...linkOperations(services, {
    id: 'invite',
    path: '/invite/{token}',
    summary: 'an invited user',
    next: '/',
    logsIn: true,
    emailOf: (token) => services.people.users.invited(token).email,
    changes: (token) => (services.people.users.invited(token).status === 'active' ? 'invitation' : null),
    async use(token, { password }) {
      const user = await services.people.users.takeInvitation(token, password)
      await services.people.sessions.endAll(user.id)
      return user
    },
  }),
  ...linkOperations(services, {
    id: 'reset',
    path: '/reset/{token}',
    summary: 'a user who has forgotten it',
    next: '/login',
    // The second factor is asked for as ever.
    logsIn: false,
    emailOf: (token) => services.people.resets.userOf(token).email,
    changes: () => 'link',
    async use(token, { password }) {
      const user = await services.people.resets.use(token, password)
      await services.people.sessions.endAll(user.id)
      return user
    },
  }),
]

function linkOperations({ entry, dashboardPath }: Services, link: EntryLink): Operation[] {
  const at = operationsAt({ path: link.path, tag: 'Session', permission: null, headers: pageHeaders })
  return [
    at.get(`${link.id}.page`, '', `Show the page for ${link.summary}`, {
      answer: ['A form.', mediaType],
      otherAnswers: [{ status: 404, description: 'A page that says that the link no longer works.', schema: null, mediaType }],
      handle: async (call) => entryPage(call, await pageOf(call, link)),
      refusalPage: (error, call) => overPage(call, error),
    }),
    at.post(`${link.id}.use`, '', `Set the password of ${link.summary}`, {
      description: `The link works once. ${link.logsIn ? 'The response sets the session cookie.' : 'It logs nobody in.'}`,
      body: {
        schema: formSchema,
        as: 'text',
        limit: smallBodyLimit,
        mediaType: 'application/x-www-form-urlencoded',
        example: { email: 'ann@example.com', password: 'correct horse battery' },
      },
      answer: ['Done: a page that says so.', mediaType],
      otherAnswers: [
        { status: 303, description: 'Done: a browser is led to the dashboard.', schema: null },
        ...(link.logsIn ? [{ status: 401, description: 'The user was removed at this moment.', schema: null, mediaType }] : []),
        { status: 403, description: 'The form came from another web site.', schema: null, mediaType },
        { status: 404, description: 'A page that says that the link is over.', schema: null, mediaType },
        { status: 409, description: 'The form, with what is wrong with it.', schema: null, mediaType },
        { status: 413, description: 'The form is too large.', schema: null, mediaType },
        { status: 415, description: 'The body is not a form.', schema: null, mediaType },
        { status: 422, description: 'The form again, with what is wrong with it.', schema: null, mediaType },
        { status: 503, description: 'The form again, to be sent later.', schema: null, mediaType },
      ],
      admit(call) {
        entry.checkOrigin(call)
        requireForm(call.headers['content-type'])
      },
      handle: async (call) => {
        const { params, headers, body, reply } = call
        const form = new URLSearchParams(body)
        const change = link.changes?.(params.token) ?? null
        const user = await link.use(params.token, { email: form.get('email') ?? '', password: form.get('password') ?? '' })
        if (change !== null) entry.tellChange(call, user, change)
        if (link.logsIn) await entry.begin(call, user)
        else entry.knowDevice(call, user)
        await entry.record(call, user, { operation: `${link.id}.use`, objectId: user.id, fields: ['password'] })
        if (dashboardPath === null || !wantsPage(headers.accept)) {
          const { done, loggedIn, passwordSet } = entryTexts(call)
          return entryPage(call, { title: done, text: link.logsIn ? loggedIn(user.email) : passwordSet })
        }
        reply.set('Location', `${dashboardPath}${link.next}`)
        return new RawAnswer(null, { status: 303 })
      },
      refusalPage: (error, call) => formAgain(call, error, link),
    }),
  ]
}

async function pageOf(call: LinkCall, link: EntryLink): Promise<EntryPage> {
  const email = await link.emailOf(call.params.token)
  const { title, text, button } = entryTexts(call).links[link.id]
  return { title, text, form: { button, email } }
}

type LinkCall = CallTo<'token'> & PageCall

/** People see errors on the page, with the form to try again if the link still works. */
async function formAgain(call: LinkCall, error: SternaError, link: EntryLink): Promise<RawAnswer> {
  if (error.code === 'not_found') return overPage(call, error)
  try {
    return refusalPage(call, error, { ...(await pageOf(call, link)), fault: entryTexts(call).faultOf(error) })
  } catch (over) {
    if (over instanceof SternaError) return overPage(call, over)
    throw over
  }
}

function overPage(call: PageCall, error: SternaError): RawAnswer {
  const texts = entryTexts(call)
  return refusalPage(call, error, { title: texts.over, text: texts.faultOf(error) })
}
