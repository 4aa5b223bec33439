import { describe, expect, it } from 'vitest'
import { SaslFault, startExchange, usableMechanisms } from '../../../src/mail-out/delivery/sasl.ts'

describe('which mechanism is used', () => {
  it.each<[string, boolean, string]>([
    ['PLAIN LOGIN CRAM-MD5 SCRAM-SHA-256', true, 'PLAIN LOGIN SCRAM-SHA-256 CRAM-MD5'],
    ['PLAIN LOGIN CRAM-MD5 SCRAM-SHA-256', false, 'SCRAM-SHA-256 CRAM-MD5'],
    ['LOGIN PLAIN', false, ''],
    ['XOAUTH2 GSSAPI', true, ''],
  ])('of %s, to a proven host: %s', (offered, isVerified, expected) =>
    expect(usableMechanisms(offered.split(' '), isVerified).join(' ')).toBe(expected),
  )
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
