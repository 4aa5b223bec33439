import { expect, test } from 'vitest'
import { mxProviderOf } from '../../../src/mail-out/delivery/mx-provider.ts'

test.each([
  ['gmail-smtp-in.l.google.com', 'google'],
  ['ASPMX.L.GOOGLE.COM.', 'google'],
  ['alt4.gmr-smtp-in.l.googlemail.com', 'google'],
  ['outlook-com.olc.protection.outlook.com', 'microsoft'],
  ['contoso-com.mail.protection.outlook.com', 'microsoft'],
  ['contoso-com.o-v1.mx.microsoft', 'microsoft'],
  ['mta5.am0.yahoodns.net', 'yahoo'],
  ['mx5.mail.yahoo.co.jp', 'yahoo_japan'],
  ['mx01.mail.icloud.com', 'apple'],
  ['mx00.t-online.de', 'tonline'],
  ['mxa-001.pphosted.com', 'proofpoint'],
  ['mx.notgoogle.com', 'other'],
  ['google.com.example', 'other'],
  ['mx.rcpt.example', 'other'],
  ['com', 'other'],
  ['', 'other'],
])('%s is run by %s', (host, provider) => {
  expect(mxProviderOf(host)).toBe(provider)
})
