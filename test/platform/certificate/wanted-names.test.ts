import { expect, test } from 'vitest'
import { wantedNames } from '../../../src/platform/certificate/wanted-names.ts'

const settings = {
  hostname: 'mail.example.com',
  baseUrl: 'https://app.example.com:8443',
  servesHttps: true,
  trackingHosts: ['links.shop.example', 'app.example.com'],
  isCovered: () => false,
}

test.each([
  [{}, ['mail.example.com', 'app.example.com', 'links.shop.example']],
  [{ servesHttps: false }, ['mail.example.com']],
  [{ baseUrl: 'https://192.0.2.1', trackingHosts: [] }, ['mail.example.com']],
  [{ baseUrl: 'https://[2001:db8::1]', hostname: 'localhost', trackingHosts: [] }, []],
  [{ isCovered: (name: string) => name.endsWith('example.com') }, ['links.shop.example']],
])('certificates for %j', (more, names) => expect(wantedNames({ ...settings, ...more })).toEqual(names))
