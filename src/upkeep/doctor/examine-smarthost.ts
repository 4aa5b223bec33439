import type { LoginProof } from '../../mail-out/delivery/prove-login.ts'
import type { TokenState } from '../../mail-out/oauth/smarthost-tokens.ts'
import type { Config } from '../../platform/config/settings.ts'
import { type Finding, sayOf } from './finding.ts'

/**
 * What came of a login to the smarthost.
 * @param proof null: none is set
 * @param token what is known of its access token then; null: it wants none
 */
export function judgeSmarthostLogin(
  { smarthost, smarthostUser, smarthostOauth }: Config['delivery'],
  proof: LoginProof | null,
  token: TokenState | null,
): Finding[] {
  if (proof === null || smarthost === null || smarthostUser === null) return []
  const say = sayOf('smarthost')
  const about = { host: smarthost.host, user: smarthostUser }
  if ('mechanism' in proof) return [say.ok('smarthost_login_fine', { ...about, mechanism: proof.mechanism })]
  if (token?.isOff) return [say.failed('smarthost_token_refused', { user: smarthostUser, reason: token.trouble ?? '' })]
  if (token !== null && token.trouble !== null && !proof.isLogin)
    return [say.failed('smarthost_token_lacking', { user: smarthostUser, reason: token.trouble })]
  const reason = proof.fault
  if (!proof.isLogin) return [say.failed('smarthost_unreachable', { host: smarthost.host, reason })]
  const known = wordsOfProviders.find(({ words, provider }) => words.test(reason) && (provider ?? smarthostOauth) === smarthostOauth)
  return [say.failed(known?.code ?? 'smarthost_login_refused', { ...about, reason })]
}

interface KnownWords {
  words: RegExp
  /** Default: any. */
  provider?: 'microsoft' | 'google'
  code: 'smarthost_smtp_auth_off' | 'smarthost_basic_off' | 'smarthost_rights_lacking' | 'smarthost_google_refused'
}

/** What providers say when they refuse a login. Decided by words, because they use one code for several things. */
const wordsOfProviders: readonly KnownWords[] = [
  { words: /SmtpClientAuthentication is disabled/i, code: 'smarthost_smtp_auth_off' },
  { words: /basic authentication is (?:disabled|not supported)/i, code: 'smarthost_basic_off' },
  { words: /5\.7\.3\b|5\.7\.57\b/, provider: 'microsoft', code: 'smarthost_rights_lacking' },
  { words: /5\.7\.(?:8|9|90)\b/, provider: 'google', code: 'smarthost_google_refused' },
]
