import type { Right } from '../../src/senders/account/permission.ts'
import type { TestRelay } from './start-relay.ts'

/** Somebody who sends requests. */
export interface Caller {
  name: string
  /** The value of the Authorization header; undefined where there is none. */
  authorization: string | undefined
  /** What every request is refused with, whatever it asks for. */
  refused?: 'missing_api_key' | 'invalid_api_key' | 'expired_api_key'
  rights: readonly Right[]
  accountId: string
  /** True of a sandbox key. */
  confined: boolean
  /** False for a user who is logged in. */
  isKey: boolean
}

const read: Right[] = ['read_access']
const send: Right[] = ['sending_access']
const full: Right[] = [...read, ...send, 'full_access']
const administration: Right[] = [...full, 'user_management']
const everything: Right[] = [...administration, 'operator', 'metrics']

/** Everybody who may come to the account `test` of a relay, and those of two others. */
export async function makeCallers(relay: TestRelay): Promise<Caller[]> {
  const { accounts, apiKeys, sendingDomains } = relay.relay.services
  const own = accounts.findAccount('test')!.id
  const other = (await accounts.create('other', 'enterprise')).id
  const suspended = (await accounts.create('suspended', 'enterprise')).id
  const domainId = sendingDomains.list(own)[0]!.id
  type Wanted = Omit<Parameters<typeof apiKeys.create>[0], 'accountId' | 'name'>
  const key = async (name: string, rights: Right[], wanted: Wanted, accountId = own): Promise<Caller & { keyId: string }> => {
    const { id, token } = await apiKeys.create({ accountId, name, ...wanted })
    return { name, authorization: `Bearer ${token}`, rights, accountId, confined: wanted.sandbox ?? false, isKey: true, keyId: id }
  }

  const revoked = await key('a revoked key', [], { permission: 'full_access' })
  await apiKeys.revoke(revoked.keyId)
  const expired = await key('an expired key', [], { permission: 'full_access', expiresAt: relay.clock.now() + 1000 })
  relay.clock.advance(2000)
  const callers: Caller[] = [
    { name: 'nobody', authorization: undefined, refused: 'missing_api_key', rights: [], accountId: own, confined: false, isKey: true },
    {
      name: 'a key in another scheme',
      authorization: `Basic ${btoa(`api:${relay.token}`)}`,
      refused: 'missing_api_key',
      rights: [],
      accountId: own,
      confined: false,
      isKey: true,
    },
    {
      name: 'a malformed key',
      authorization: 'Bearer not_a_key',
      refused: 'invalid_api_key',
      rights: [],
      accountId: own,
      confined: false,
      isKey: true,
    },
    { ...revoked, refused: 'invalid_api_key' },
    { ...expired, refused: 'expired_api_key' },
    await key('a key with read_access', read, { permission: 'read_access' }),
    await key('a key with sending_access', send, { permission: 'sending_access' }),
    await key('a key for one domain', send, { permission: 'sending_access', domainId }),
    await key('a key with full_access', full, { permission: 'full_access' }),
    await key('a sandbox key', full, { permission: 'full_access', sandbox: true }),
    await key('a key for metrics', ['metrics'], { permission: 'metrics' }),
    await key("an operator's key", everything, { permission: 'operator' }),
    await key("another account's key", full, { permission: 'full_access' }, other),
    await key("a suspended account's key", full, { permission: 'full_access' }, suspended),
    await user(relay, 'an owner', administration, { role: 'owner', accountId: own }),
    await user(relay, 'an admin', administration, { role: 'admin', accountId: own }),
    await user(relay, 'a member', [...read, ...send], { role: 'member', accountId: own }),
    await user(relay, 'a viewer', read, { role: 'viewer', accountId: own }),
    await user(relay, 'an operator', everything, { role: 'viewer', operator: true, accountId: own }),
    await user(relay, 'the owner of another account', administration, { role: 'owner', accountId: other }),
  ]
  await accounts.change('suspended', { status: 'suspended' })
  return callers
}

async function user(
  relay: TestRelay,
  name: string,
  rights: Right[],
  wanted: { role: 'owner' | 'admin' | 'member' | 'viewer'; operator?: boolean; accountId: string },
): Promise<Caller> {
  const { users, sessions } = relay.relay.services.people
  const email = `${name.replaceAll(' ', '.')}@users.example`
  const invited = await users.invite({ operator: false, ...wanted, email })
  const taken = await users.takeInvitation(invited.token, 'a long enough password 1')
  const { session } = await sessions.begin(taken, { address: '127.0.0.1', userAgent: 'test' })
  const { token } = await sessions.exchange(session, { sandbox: false })
  return { name, authorization: `Bearer ${token}`, rights, accountId: wanted.accountId, confined: false, isKey: false }
}
