import { describe, expect, it } from 'vitest'
import { SaslFault, startExchange, startTokenExchange, usableMechanisms } from '../../../src/mail-out/delivery/sasl.ts'

const byPassword = { user: 'tim', password: 'tanstaaftanstaaf' }
const byToken = {
  user: 'user@example.com',
  accessToken: 'vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==',
  host: 'server.example.com',
  port: 143,
}

describe('which mechanism is used', () => {
  it.each<[string, boolean, string]>([
    ['PLAIN LOGIN CRAM-MD5 SCRAM-SHA-256', true, 'PLAIN LOGIN SCRAM-SHA-256 CRAM-MD5'],
    ['PLAIN LOGIN CRAM-MD5 SCRAM-SHA-256', false, 'SCRAM-SHA-256 CRAM-MD5'],
    ['LOGIN PLAIN', false, ''],
    ['XOAUTH2 GSSAPI', true, ''],
  ])('of %s, to a proven host: %s', (offered, isVerified, expected) =>
    expect(names(usableMechanisms(offered.split(' '), byPassword, isVerified))).toBe(expected),
  )

  it.each<[string, boolean, string]>([
    ['LOGIN PLAIN XOAUTH2 PLAIN-CLIENTTOKEN OAUTHBEARER XOAUTH', true, 'OAUTHBEARER XOAUTH2'],
    ['LOGIN XOAUTH2', true, 'XOAUTH2'],
    ['LOGIN XOAUTH2 OAUTHBEARER', false, ''],
    ['PLAIN LOGIN', true, ''],
  ])('of %s, with a token, to a proven host: %s', (offered, isVerified, expected) =>
    expect(names(usableMechanisms(offered.split(' '), byToken, isVerified))).toBe(expected),
  )

  const names = (mechanisms: { name: string }[]): string => mechanisms.map(({ name }) => name).join(' ')
})

it('PLAIN is said at once', () =>
  expect(startExchange('PLAIN', { user: 'tim', password: 'tanstaaftanstaaf' }).initial).toBe('\0tim\0tanstaaftanstaaf'))

it('LOGIN tells the user, then the password, and no more', () => {
  const exchange = startExchange('LOGIN', { user: 'tim', password: 'secret' })
  expect([exchange.initial, exchange.respond('Username:'), exchange.respond('Password:')]).toEqual([null, 'tim', 'secret'])
  expect(() => exchange.respond('More:')).toThrow(SaslFault)
})

it('CRAM-MD5 is that of RFC 2195', () => {
  const exchange = startExchange('CRAM-MD5', { user: 'tim', password: 'tanstaaftanstaaf' })
  expect(exchange.respond('<1896.697170952@postoffice.reston.mci.net>')).toBe('tim b913a602c7eda7a495b4e6e7334d3890')
})

describe('SCRAM-SHA-256', () => {
  const start = () => startExchange('SCRAM-SHA-256', { user: 'user', password: 'pencil' }, 'rOprNGfwEbeRWgbNEkqO')
  const nonce = 'rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0'
  const challenge = `r=${nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096`

  it('is that of RFC 7677', async () => {
    const exchange = start()
    expect(exchange.initial).toBe('n,,n=user,r=rOprNGfwEbeRWgbNEkqO')
    expect(await exchange.respond(challenge)).toBe(`c=biws,r=${nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=`)
    expect(exchange.isServerProved()).toBe(false)
    expect(await exchange.respond('v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=')).toBe('')
    expect(exchange.isServerProved()).toBe(true)
  })

  it('believes no server that does not know the password', async () => {
    const exchange = start()
    await exchange.respond(challenge)
    expect(() => exchange.respond('v=AAAATRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=')).toThrow(SaslFault)
    expect(exchange.isServerProved()).toBe(false)
  })

  it.each([
    ['another nonce', challenge.replace('rOpr', 'xOpr')],
    ['our nonce alone', challenge.replace(nonce, 'rOprNGfwEbeRWgbNEkqO')],
    ['no salt', challenge.replace(/,s=[^,]*/, '')],
    ['no count', challenge.replace('4096', 'many')],
    ['work without end', challenge.replace('4096', '2000000000')],
    ['nothing', ''],
  ])('goes no further with a server that gives %s', async (_, given) => {
    await expect(async () => start().respond(given)).rejects.toThrow(SaslFault)
  })

  it('hides the characters that stand between attributes', () =>
    expect(startExchange('SCRAM-SHA-256', { user: 'a=b,c', password: '' }, 'n').initial).toBe('n,,n=a=3Db=2Cc,r=n'))
})

describe('a token', () => {
  it('is presented by OAUTHBEARER as in RFC 7628 4.1, and the host that refuses it is answered as in 4.3', () => {
    const exchange = startTokenExchange('OAUTHBEARER', byToken)
    expect(exchange.initial).toBe(
      'n,a=user@example.com,\x01host=server.example.com\x01port=143\x01auth=Bearer vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==\x01\x01',
    )
    expect(exchange.respond('{"status":"invalid_token"}')).toBe('\x01')
  })

  it('is presented by XOAUTH2 as its description has it, and the host that refuses it gets an empty line', () => {
    const exchange = startTokenExchange('XOAUTH2', {
      ...byToken,
      user: 'someuser@example.com',
      accessToken: 'ya29.vF9dft4qmTc2Nvb3RlckBhdHRhdmlzdGEuY29tCg',
    })
    expect(Buffer.from(exchange.initial ?? '').toString('base64')).toBe(
      'dXNlcj1zb21ldXNlckBleGFtcGxlLmNvbQFhdXRoPUJlYXJlciB5YTI5LnZGOWRmdDRxbVRjMk52YjNSbGNrQmhkSFJoZG1semRHRXVZMjl0Q2cBAQ==',
    )
    expect(exchange.respond('{"status":"401"}')).toBe('')
  })

  it('is for no other user, whatever characters the name has', () =>
    expect(startTokenExchange('OAUTHBEARER', { ...byToken, user: 'a=b,c' }).initial?.split('\x01')[0]).toBe('n,a=a=3Db=2Cc,'))
})
