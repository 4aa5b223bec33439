import type { Log } from '../log.ts'
import { AcmeProblem } from './acme-problem.ts'
import type { AcmeState, StoredAccount } from './acme-state.ts'
import { AcmeSession, type AcmeAuthority, type ExternalAccount } from './acme-session.ts'
import { newKeyPair, pemOf } from './signing-request.ts'

interface AccountSettings {
  authority: AcmeAuthority
  /** Where the account is kept. */
  state: AcmeState
  /** Whom the authority may write to; null: nobody. */
  email: string | null
  externalAccount: ExternalAccount | null
  log: Log
  /** Epoch, ms. */
  now: number
}

/** An account that the authority refuses is replaced at most this often, ms: there are limits on new ones. */
const replaceEvery = 6 * 3_600_000

/**
 * Opens our account, or makes one if there is none at this authority or it cannot be read (RFC 8555 7.3).
 * @param refusal why the authority no longer accepts the kept account, which is then replaced
 * @throws AcmeProblem
 */
export async function openAccount(settings: AccountSettings, refusal: AcmeProblem | null = null): Promise<AcmeSession> {
  const { authority, state, now } = settings
  const kept = await readAccount(state, authority)
  const isYoung = kept !== null && now - kept.madeAt < replaceEvery
  if (refusal?.type === 'unauthorized' && isYoung) throw new AcmeProblem('account', refusal.message, { cause: refusal })
  const stored = refusal === null ? kept : null
  if (stored !== null && stored.url !== null) {
    stored.session.account = stored.url
    return stored.session
  }
  const key = stored?.key ?? pemOf(await newKeyPair())
  const session = stored?.session ?? new AcmeSession(authority, key)
  const keep = (url: string | null): Promise<void> => state.keepAccount({ directory: authority.directory, url, key, madeAt: now })
  // Kept first: if we stop now, the next start finds the same account.
  await keep(null)
  session.account = await register(session, settings)
  await keep(session.account)
  return session
}

async function readAccount(state: AcmeState, authority: AcmeAuthority): Promise<(StoredAccount & { session: AcmeSession }) | null> {
  const stored = await state.account()
  try {
    return stored?.directory === authority.directory ? { ...stored, session: new AcmeSession(authority, stored.key) } : null
  } catch {
    return null
  }
}

async function register(session: AcmeSession, { authority, email, externalAccount, log }: AccountSettings): Promise<string | null> {
  const terms = await session.terms()
  const { location } = await session.post(await session.urlOf('newAccount'), {
    termsOfServiceAgreed: true,
    ...(email === null ? {} : { contact: [`mailto:${email}`] }),
    ...(externalAccount === null ? {} : { externalAccountBinding: await session.binding(externalAccount) }),
  })
  log.info({ directory: authority.directory, terms }, 'made an account at the certificate authority, and agreed to its terms of service')
  return location
}
