import { RefusedLogins } from '../../src/senders/account/refused-logins.ts'
import { randomBytes } from 'node:crypto'
import type { Role } from '../../src/senders/account/permission.ts'
import type { User } from '../../src/senders/account/user.ts'
import { accountOperations } from '../../src/api/resource/account-operations.ts'
import { apiKeyOperations } from '../../src/api/resource/api-key-operations.ts'
import { auditOperations } from '../../src/api/resource/audit-operations.ts'
import { LoginChanges } from '../../src/notify/password-reset/login-changes.ts'
import { ResetRequests } from '../../src/notify/password-reset/reset-requests.ts'
import type { Database, Statement } from '../../src/platform/store/database.ts'
import type { SystemMail } from '../../src/mail-in/submission/system-mail.ts'
import { entryOperations } from '../../src/api/resource/entry-operations.ts'
import { passkeyOperations } from '../../src/api/resource/passkey-operations.ts'
import { passwordOperations } from '../../src/api/resource/password-operations.ts'
import { sessionOperations } from '../../src/api/resource/session-operations.ts'
import { userOperations } from '../../src/api/resource/user-operations.ts'
import { SessionEntry } from '../../src/api/resource/session-entry.ts'
import { WebhookList } from '../../src/notify/webhook/webhook-list.ts'
import { startApiServer, type ApiAnswer, type ApiServer } from './api-server.ts'

export const plans = { byName: { free: 100, starter: 500 }, standard: 'free' }

export interface PeopleApi extends ApiServer {
  webhooks: WebhookList
  /** What the server has mailed, once those who asked for a new password are served. */
  mails(): Promise<SystemMail[]>
  /** Adds a user of the account `acme`, made when first needed, or of another. */
  addUser(wanted?: { role?: Role; operator?: boolean; account?: string; email?: string }): Promise<User & { password: string }>
  /** Logs in; the cookie as a browser sends it back. */
  login(email: string, password: string, code?: string): Promise<ApiAnswer & { cookie: string }>
  /** A token for the API, as a dashboard gets it. */
  tokenOf(wanted?: Parameters<PeopleApi['addUser']>[0]): Promise<string>
}

/** The endpoints for accounts, keys, users and sessions, over a real store. `over`: that of another, so that both are nodes. */
export async function startPeopleApi(
  baseUrl = 'https://mail.example.com',
  dashboardPath: string | null = null,
  over?: Database,
): Promise<PeopleApi> {
  let webhooks: WebhookList | undefined
  let resetRequests: ResetRequests | undefined
  let loginChanges: LoginChanges | undefined
  const mailed: SystemMail[] = []
  const api = await startApiServer(
    (services) => {
      webhooks = new WebhookList({ ...services, onEnabled: () => {} }, { allowHttp: true })
      const systemMail = {
        async send(mail: SystemMail, besides: Statement[] = []) {
          await services.db.write(besides)
          mailed.push(mail)
        },
      }
      loginChanges = new LoginChanges({ ...services, ...services.people, systemMail }, { baseUrl, canMail: true })
      const entry = new SessionEntry({ baseUrl, ...services.people, audit: services.audit, loginChanges })
      resetRequests = new ResetRequests({ ...services, ...services.people, systemMail }, { baseUrl, canMail: true })
      const removal = { ...services, webhooks }
      const all = {
        ...services,
        refusedLogins: new RefusedLogins(services.log),
        entry,
        resetRequests,
        baseUrl,
        dashboardPath,
        plans,
        removal,
      }
      const resources = [
        apiKeyOperations,
        accountOperations,
        userOperations,
        auditOperations,
        sessionOperations,
        passwordOperations,
        passkeyOperations,
        entryOperations,
      ]
      return resources.flatMap((operations) => operations(all))
    },
    {},
    over,
  )
  const mails = async (): Promise<SystemMail[]> => {
    await resetRequests?.idle()
    await loginChanges?.idle()
    return mailed
  }
  return { ...api, webhooks: webhooks as WebhookList, mails, ...logins(api) }
}

function logins({ accounts, people, request }: ApiServer): Pick<PeopleApi, 'addUser' | 'login' | 'tokenOf'> {
  const addUser: PeopleApi['addUser'] = async ({ role = 'owner', operator = false, account = 'acme', email } = {}) => {
    const { id: accountId } = accounts.findAccount(account) ?? (await accounts.create(account, 'free'))
    const password = randomBytes(10).toString('hex')
    const { token } = await people.users.invite({
      accountId,
      role,
      operator,
      email: email ?? `${randomBytes(4).toString('hex')}@${account}.example`,
    })
    return { ...(await people.users.takeInvitation(token, password)), password }
  }
  const login: PeopleApi['login'] = async (email, password, code) => {
    const body = { email, password, ...(code === undefined ? {} : { code }) }
    const answer = await request('POST', '/session', { body })
    return { ...answer, cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' }
  }
  return {
    addUser,
    login,
    async tokenOf(wanted) {
      const { email, password } = await addUser(wanted)
      const { cookie } = await login(email, password)
      return String((await request('POST', '/session/token', { headers: { cookie } })).body['token'])
    },
  }
}
