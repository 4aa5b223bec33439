import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../../src/platform/config/load-config.ts'
import type { LoginProof } from '../../../src/mail-out/delivery/prove-login.ts'
import type { TokenState } from '../../../src/mail-out/oauth/smarthost-tokens.ts'
import { judgeSmarthostLogin } from '../../../src/upkeep/doctor/examine-smarthost.ts'

const token: TokenState = { hasToken: true, expiresAt: 1, trouble: null, isOff: false, fetchedAt: 0, dueAt: 0 }

const judged = (provider: string, proof: LoginProof | null, known: TokenState | null = token): string[] => {
  const oauth = {
    STERNA_DELIVERY_SMARTHOST_OAUTH: provider,
    STERNA_DELIVERY_SMARTHOST_OAUTH_TENANT: 'smart.example',
    STERNA_DELIVERY_SMARTHOST_OAUTH_CLIENT_ID: 'app',
    STERNA_DELIVERY_SMARTHOST_OAUTH_CLIENT_SECRET: 'secret',
  }
  const { delivery } = loadConfig({
    env: {
      STERNA_DELIVERY_SMARTHOST: 'smart.example:587',
      STERNA_DELIVERY_SMARTHOST_USER: 'relay@smart.example',
      ...(provider === 'password' ? { STERNA_DELIVERY_SMARTHOST_PASSWORD: 'secret' } : oauth),
    },
  })
  return judgeSmarthostLogin(delivery, proof, known).map(({ code, status }) => `${status} ${code}`)
}

const refused = (reply: string): LoginProof => ({
  fault: `smart.example (192.0.2.1): the login with XOAUTH2 was refused: ${reply}`,
  isLogin: true,
})

describe('the login to the smarthost is judged by the words of the provider', () => {
  test.each<[string, string, string]>([
    ['microsoft', '535 5.7.3 Authentication unsuccessful [AM0PR02CA0001.eurprd02.prod.outlook.com]', 'smarthost_rights_lacking'],
    [
      'microsoft',
      '535 5.7.139 Authentication unsuccessful, SmtpClientAuthentication is disabled for the Mailbox.',
      'smarthost_smtp_auth_off',
    ],
    [
      'password',
      '535 5.7.139 Authentication unsuccessful, SmtpClientAuthentication is disabled for the Tenant.',
      'smarthost_smtp_auth_off',
    ],
    ['password', '535 5.7.139 Authentication unsuccessful, basic authentication is disabled.', 'smarthost_basic_off'],
    ['password', '550 5.7.30 Basic authentication is not supported for Client Submission.', 'smarthost_basic_off'],
    ['google', '535-5.7.8 Username and Password not accepted. For more information, go to', 'smarthost_google_refused'],
    ['password', '535 5.7.8 Error: authentication failed', 'smarthost_login_refused'],
  ])('%s says %s', (provider, reply, code) => expect(judged(provider, refused(reply))).toEqual([`failed ${code}`]))
})

test.each<[string, LoginProof | null, TokenState | null, string[]]>([
  ['nothing is logged in to', null, null, []],
  ['it succeeds', { mechanism: 'XOAUTH2' }, token, ['ok smarthost_login_fine']],
  ['there is no connection', { fault: 'refused', isLogin: false }, token, ['failed smarthost_unreachable']],
  [
    'the provider refuses',
    { fault: 'off', isLogin: false },
    { ...token, isOff: true, trouble: 'invalid_grant' },
    ['failed smarthost_token_refused'],
  ],
  ['the endpoint is down', { fault: 'down', isLogin: false }, { ...token, trouble: '503' }, ['failed smarthost_token_lacking']],
])('%s', (_, proof, known, findings) => expect(judged('microsoft', proof, known)).toEqual(findings))
