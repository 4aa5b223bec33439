import { expect, test } from 'vitest'
import { loadConfig } from '../../../src/platform/config/load-config.ts'
import { reloadedSettings } from '../../../src/platform/config/settings.ts'
import { takeOver } from '../../../src/platform/config/take-over.ts'

const configOf = (given: Record<string, string>) =>
  loadConfig({ env: Object.fromEntries(Object.entries(given).map(([name, value]) => [`STERNA_${name}`, value])), systemHostname: 'laptop' })

test('what may change is changed in place, with where it was set; the rest stays and is named', () => {
  const config = configOf({ LOG_LEVEL: 'warn', CONTENT_RETENTION: '1d', HTTP_LISTEN: '127.0.0.1:1' })
  const { suppression } = config
  const next = configOf({ CONTENT_RETENTION: '1d', EVENT_RETENTION: '2d', SUPPRESSION_SOFT_BOUNCES: '4', HTTP_LISTEN: '127.0.0.1:2' })
  expect(takeOver(config, next)).toEqual({
    reloaded: ['suppression.soft_bounces', 'event_retention', 'log.level'],
    needRestart: ['http.listen', 'base_url'],
  })
  expect(config).toMatchObject({ log: { level: 'info' }, eventRetention: 172_800_000, http: { listen: [{ port: 1 }] } })
  // Others hold this object.
  expect(config.suppression).toBe(suppression)
  expect(suppression.softBounces).toBe(4)
  expect([...config.origins.keys()].toSorted()).toEqual(['content_retention', 'event_retention', 'http.listen', 'suppression.soft_bounces'])
  expect(takeOver(config, config)).toEqual({ reloaded: [], needRestart: [] })
})

test('a password that has changed is noticed, although it is not shown', () => {
  const login = (password: string) =>
    configOf({ DELIVERY_SMARTHOST: 'a.example', DELIVERY_SMARTHOST_USER: 'me', DELIVERY_SMARTHOST_PASSWORD: password })
  expect(takeOver(login('one'), login('two'))).toEqual({ reloaded: [], needRestart: ['delivery.smarthost_password'] })
  expect(reloadedSettings.has('delivery.smarthost_password')).toBe(false)
})
