import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { loadConfig, type ConfigSources } from '../../../src/platform/config/load-config.ts'
import { settingValue, type Config } from '../../../src/platform/config/settings.ts'
import { exampleFile } from '../../../scripts/docs/settings-page.ts'
import { SternaError } from '../../../src/platform/errors.ts'

const directory = mkdtempSync(join(tmpdir(), 'sterna-config-'))
afterAll(() => rmSync(directory, { recursive: true }))

const fileOf = (text: string): string => {
  const file = join(directory, 'sterna.yml')
  writeFileSync(file, text)
  return file
}

/** The lines of the refusal, without the path of the file. */
const faultsOf = (sources: ConfigSources): string[] => {
  try {
    loadConfig(sources)
  } catch (error) {
    expect(error).toBeInstanceOf(SternaError)
    const [title, ...faults] = (error as SternaError).message.split('\n')
    expect(title).toContain('configuration')
    return faults.map((fault) => fault.trim().replaceAll(`${directory}/`, ''))
  }
  return []
}

describe('values', () => {
  const rows: [variable: string, text: string, pick: (config: Config) => unknown, value: unknown][] = [
    ['STERNA_DATA_DIR', '/srv/sterna', (config) => config.secretKeyFile, '/srv/sterna/secret.key'],
    ['STERNA_HOSTNAME', 'Mail.Example.COM.', (config) => config.returnPath.domain, 'mail.example.com'],
    ['STERNA_BASE_URL', 'https://mail.example.com/', (config) => config.baseUrl, 'https://mail.example.com'],
    ['STERNA_HTTP_LISTEN', '127.0.0.1:0', (config) => config.http.listen, [{ host: '127.0.0.1', port: 0 }]],
    ['STERNA_HTTP_LISTEN', '127.0.0.1:9000', (config) => config.baseUrl, 'http://localhost:9000'],
    [
      'STERNA_SUBMISSION_LISTEN',
      '0.0.0.0:587, [::1]:587',
      (config) => config.submission.listen,
      [
        { host: '0.0.0.0', port: 587 },
        { host: '::1', port: 587 },
      ],
    ],
    ['STERNA_SUBMISSION_TLS_LISTEN', 'none', (config) => config.submission.tlsListen, []],
    ['STERNA_SUBMISSION_ALLOW_PLAINTEXT_AUTH_ON_LOOPBACK', 'true', (config) => config.submission.allowPlaintextAuthOnLoopback, true],
    ['STERNA_MESSAGE_SIZE_LIMIT', '1.5MB', (config) => config.messageSizeLimit, 1.5 * 1024 * 1024],
    ['STERNA_DELIVERY_SMARTHOST', 'relay.example.net', (config) => config.delivery.smarthost, { host: 'relay.example.net', port: 25 }],
    ['STERNA_DELIVERY_SMARTHOST', 'none', (config) => config.delivery.smarthost, null],
    ['STERNA_DELIVERY_SMARTHOST', 'relay.example.net:465', (config) => config.delivery.smarthostTls, 'implicit'],
    ['STERNA_DELIVERY_SMARTHOST', 'relay.example.net:587', (config) => config.delivery.smarthostTls, 'opportunistic'],
    ['STERNA_DELIVERY_GIVE_UP_AFTER', '7d', (config) => config.delivery.giveUpAfter, 7 * 86_400_000],
    ['STERNA_DELIVERY_RETRY_SCHEDULE', '90s,15m,1.5h', (config) => config.delivery.retrySchedule, [90_000, 900_000, 5_400_000]],
    ['STERNA_CONTENT_RETENTION', '0', (config) => config.contentRetention, 0],
    ['STERNA_PLANS', 'free=5,vip=7', (config) => [config.plans['free'], config.plans['vip'], config.plans['starter']], [5, 7, 500]],
    ['STERNA_DNS_SERVERS', '127.0.0.1:5353,::1,[::2]:54', (config) => config.dns.servers, ['127.0.0.1:5353', '[::1]:53', '[::2]:54']],
    ['STERNA_DNS_DNSSEC_PROBE', '. NS', (config) => config.dns.dnssecProbe, { name: '', type: 'NS' }],
    ['STERNA_DNS_DNSSEC_PROBE', 'Signed.example. a', (config) => config.dns.dnssecProbe, { name: 'signed.example', type: 'A' }],
    ['STERNA_DNS_DNSSEC_PROBE', 'none', (config) => config.dns.dnssecProbe, null],
    ['STERNA_RETURN_PATH_LISTEN', '127.0.0.1:2525', (config) => config.returnPath.listen, [{ host: '127.0.0.1', port: 2525 }]],
  ]
  test.each(rows)('%s=%s', (variable, text, pick, value) => {
    expect(pick(loadConfig({ env: { [variable]: text } }))).toEqual(value)
  })
})

test('without any source the defaults stand, made from the name of the computer', () => {
  expect(loadConfig({ systemHostname: 'mx1.example.org' })).toMatchObject({
    hostname: 'mx1.example.org',
    returnPath: { domain: 'mx1.example.org' },
    baseUrl: 'http://localhost:8080',
    delivery: { port: 25, giveUpAfter: 172_800_000, allowPrivateAddresses: false },
    webhooks: { retrySchedule: [60_000, 300_000, 1_800_000, 7_200_000, 86_400_000] },
    plans: { free: 100, starter: 500, professional: 2000, enterprise: 10_000 },
  })
  expect(loadConfig({ systemHostname: 'laptop' }).hostname).toBe('localhost')
  expect(loadConfig({ systemHostname: 'my_laptop.local' }).hostname).toBe('localhost')
})

test('nested and dotted names, YAML and JSON mean the same; the environment stands above the file', () => {
  const nested = fileOf(`
delivery:
  port: 2525
  retry_schedule: [1s, 2s]
plans: {vip: 9}
http:
  listen:
    - 127.0.0.1:1
    - "[::1]:2"
`)
  const fromNested = loadConfig({ file: nested })
  expect(fromNested.delivery).toMatchObject({ port: 2525, retrySchedule: [1000, 2000] })
  expect(fromNested.plans).toMatchObject({ vip: 9, free: 100 })
  const fromJson = loadConfig({
    file: fileOf(
      JSON.stringify({
        'delivery.port': 2525,
        delivery: { retry_schedule: '1s,2s' },
        plans: { vip: 9 },
        'http.listen': '127.0.0.1:1,[::1]:2',
      }),
    ),
  })
  expect(fromJson).toEqual(fromNested)
  expect(loadConfig({ file: nested, env: { STERNA_DELIVERY_PORT: '26', STERNA_MODE: '' } })).toMatchObject({
    mode: 'live',
    delivery: { port: 26, retrySchedule: [1000, 2000] },
  })
})

test('the example file loads, and uncommented it gives the defaults', () => {
  const lines = exampleFile()
    .split('\n')
    .filter((line) => /^#( {2})?[a-z_.]+:/.test(line) && !/:\s+#/.test(line))
    .map((line) => line.slice(1))
  expect(lines.length).toBeGreaterThan(30)
  expect(loadConfig({ file: fileOf(exampleFile()) })).toEqual(loadConfig({}))
  expect(loadConfig({ file: fileOf(lines.join('\n')) })).toEqual(loadConfig({}))
})

test('certificates from an authority need a full name, https, and both parts of an external account', () => {
  const faults = { STERNA_HOSTNAME: 'localhost', STERNA_ACME_DIRECTORY: 'http://ca.example/dir', STERNA_ACME_EAB_KEY: 'a2V5' }
  const load = (env: Record<string, string>) => loadConfig({ env: { STERNA_ACME_ENABLED: 'true', ...env } })
  expect(() => load(faults)).toThrow(/acme\.directory: it must be an https URL[^]*acme\.eab_key_id and acme\.eab_key[^]*Set hostname/)
  expect(load({ STERNA_HOSTNAME: 'mail.example.com' }).acme.challenges).toEqual(['http-01', 'tls-alpn-01'])
})

test('a login to the smarthost demands TLS, and its password is not shown', () => {
  const env = {
    STERNA_DELIVERY_SMARTHOST: 'relay.example.net:587',
    STERNA_DELIVERY_SMARTHOST_USER: 'me',
    STERNA_DELIVERY_SMARTHOST_PASSWORD: 's3cret',
  }
  const { delivery } = loadConfig({ env })
  expect([delivery.smarthostTls, delivery.smarthostVerify, delivery.smarthostPassword?.reveal()]).toEqual(['starttls', true, 's3cret'])
  expect(`${JSON.stringify(delivery)} ${String(delivery.smarthostPassword)} ${inspect(delivery)}`).not.toContain('s3cret')
})

describe('reports of the smarthost', () => {
  const given = { SMARTHOST: 'relay.example.net:587', SMARTHOST_REPORTS: 'mailgun', SMARTHOST_REPORTS_KEY: 'k3y' }
  const envOf = (changed: Record<string, string>) =>
    Object.fromEntries(Object.entries({ ...given, ...changed }).map(([name, value]) => [`STERNA_DELIVERY_${name}`, value]))

  test('come with a key that is not shown', () => {
    const { delivery } = loadConfig({ env: envOf({}) })
    expect([delivery.smarthostReports, delivery.smarthostReportsKey?.reveal()]).toEqual(['mailgun', 'k3y'])
    expect(JSON.stringify(delivery)).not.toContain('k3y')
  })

  test.each<[Record<string, string>, RegExp]>([
    [{ SMARTHOST: '' }, /smarthost_reports: there is no delivery.smarthost/],
    [{ SMARTHOST_REPORTS: '' }, /smarthost_reports_key: it says nothing without/],
    [{ SMARTHOST_REPORTS_KEY: '' }, /Set delivery.smarthost_reports_key \(or its file\) too/],
    [{ SMARTHOST_REPORTS: 'sparkpost' }, /is not one of ses, postmark, mailgun, sendgrid/],
    [{ SMARTHOST_REPORTS: 'ses' }, /the ARN of the topic/],
    [{ SMARTHOST_REPORTS: 'ses', SMARTHOST_REPORTS_KEY: 'arn:aws:sns:x.example/:123456789012:name' }, /the ARN of the topic/],
    [{ SMARTHOST_REPORTS: 'sendgrid' }, /the verification key/],
    [{ SMARTHOST_REPORTS: 'postmark' }, /a password of 16 or more characters/],
  ])('lack something with %o', (changed, fault) => {
    const faults = faultsOf({ env: envOf(changed) })
    expect(faults).toEqual([expect.stringMatching(fault)])
    expect(faults.join()).not.toContain('k3y')
  })
})

describe('a login to the smarthost by OAuth 2', () => {
  const given = {
    STERNA_DELIVERY_SMARTHOST: 'smtp.office365.com:587',
    STERNA_DELIVERY_SMARTHOST_USER: 'relay@example.com',
    STERNA_DELIVERY_SMARTHOST_OAUTH: 'microsoft',
    STERNA_DELIVERY_SMARTHOST_OAUTH_TENANT: 'Example.onmicrosoft.com',
    STERNA_DELIVERY_SMARTHOST_OAUTH_CLIENT_ID: 'app',
    STERNA_DELIVERY_SMARTHOST_OAUTH_CLIENT_SECRET: 's3cret',
  }

  test('knows what Microsoft and Google want', () => {
    const pick = (env: Record<string, string>) => {
      const { smarthostTls, smarthostSender, smarthostOauthGrant, smarthostOauthTokenUrl, smarthostOauthScope } = loadConfig({
        env,
      }).delivery
      return [smarthostTls, smarthostSender, smarthostOauthGrant, smarthostOauthTokenUrl, smarthostOauthScope]
    }
    const microsoft = 'https://login.microsoftonline.com/example.onmicrosoft.com/oauth2/v2.0/token'
    expect(pick(given)).toEqual([
      'starttls',
      'relay@example.com',
      'client_credentials',
      microsoft,
      'https://outlook.office365.com/.default',
    ])
    expect(pick({ ...given, STERNA_DELIVERY_SMARTHOST_OAUTH_GRANT: 'refresh_token' })).toEqual([
      'starttls',
      'relay@example.com',
      'refresh_token',
      microsoft,
      'https://outlook.office.com/SMTP.Send offline_access',
    ])
    expect(pick({ ...given, STERNA_DELIVERY_SMARTHOST_OAUTH: 'google' })).toEqual([
      'starttls',
      'relay@example.com',
      'refresh_token',
      'https://oauth2.googleapis.com/token',
      'https://mail.google.com/',
    ])
  })

  test.each<[Record<string, string>, RegExp]>([
    [{ SMARTHOST: '' }, /smarthost_oauth: there is no delivery.smarthost/],
    [{ SMARTHOST_USER: '' }, /Set delivery.smarthost_user too/],
    [{ SMARTHOST_USER: 'me' }, /must be the address of a mailbox/],
    [{ SMARTHOST_PASSWORD: 'x' }, /Remove delivery.smarthost_password/],
    [{ SMARTHOST_OAUTH: '' }, /smarthost_oauth_client_id: it says nothing without delivery.smarthost_oauth/],
    [{ SMARTHOST_OAUTH_TENANT: '' }, /Set delivery.smarthost_oauth_tenant too/],
    [{ SMARTHOST_OAUTH_TENANT: 'a/../b' }, /is not a tenant/],
    [{ SMARTHOST_OAUTH: 'other', SMARTHOST_OAUTH_TENANT: '' }, /Set delivery.smarthost_oauth_token_url too/],
    [{ SMARTHOST_OAUTH_TOKEN_URL: 'http://login.example/token' }, /is not an https URL/],
    [{ SMARTHOST_OAUTH_CLIENT_ID: '' }, /Set delivery.smarthost_oauth_client_id too/],
    [{ SMARTHOST_OAUTH_CLIENT_SECRET: '' }, /Set delivery.smarthost_oauth_client_secret too/],
  ])('lacks something with %o', (other, fault) => {
    const changed = Object.fromEntries(Object.entries(other).map(([name, value]) => [`STERNA_DELIVERY_${name}`, value]))
    expect(faultsOf({ env: { ...given, ...changed } })).toEqual([expect.stringMatching(fault)])
  })
})

test('a sender for the smarthost needs one', () =>
  expect(faultsOf({ env: { STERNA_DELIVERY_SMARTHOST_SENDER: 'a@example.com' } })).toEqual([
    expect.stringMatching(/smarthost_sender: there is no delivery.smarthost/),
  ]))

test.each([
  [
    'in the environment',
    (path: string) => ({ env: { STERNA_DELIVERY_SMARTHOST_PASSWORD_FILE: path } }),
    'STERNA_DELIVERY_SMARTHOST_PASSWORD_FILE',
  ],
  ['in the file', (path: string) => ({ file: fileOf(`delivery:\n  smarthost_password_file: ${path}`) }), `${directory}/sterna.yml:2`],
  ['in the file, dotted', (path: string) => ({ file: fileOf(`delivery.smarthost_password_file: ${path}`) }), `${directory}/sterna.yml:1`],
])('a secret can be a file, named %s', (_, sources, place) => {
  for (const [content, password] of [
    ['s3cret\n', 's3cret'],
    ['s3cret\r\n', 's3cret'],
    ['two\nlines\n\n', 'two\nlines\n'],
    ['none', 'none'],
  ] as const) {
    const path = join(directory, 'password')
    writeFileSync(path, content)
    const { file, env = {} } = { env: undefined, file: undefined, ...sources(path) }
    const login = { STERNA_DELIVERY_SMARTHOST: 'a.example', STERNA_DELIVERY_SMARTHOST_USER: 'me' }
    const { delivery, origins } = loadConfig({ file, env: { ...env, ...login } })
    expect(delivery.smarthostPassword?.reveal()).toBe(password)
    expect(origins.get('delivery.smarthost_password')).toBe(place)
  }
})

test('an empty file is no secret, and a variable for the file of what is no secret does not exist', () => {
  const path = join(directory, 'empty')
  writeFileSync(path, '\n')
  expect(faultsOf({ env: { STERNA_DELIVERY_SMARTHOST_PASSWORD_FILE: path } })).toEqual([
    expect.stringMatching(/smarthost_password_file: empty is empty\.$/),
  ])
  expect(faultsOf({ env: { STERNA_HOSTNAME_FILE: path } })).toEqual([
    expect.stringMatching(/^STERNA_HOSTNAME_FILE: there is no such setting/),
  ])
})

describe('base_url follows the settings that say where the API is reached', () => {
  const rows: [settings: Record<string, string>, baseUrl: string][] = [
    [{}, 'http://localhost:8080'],
    [{ HTTP_LISTEN: 'none', HTTP_TLS_LISTEN: '0.0.0.0:8443' }, 'https://localhost:8443'],
    [{ HOSTNAME: 'laptop' }, 'http://localhost:8080'],
    [{ HOSTNAME: 'mail.example.com' }, 'http://mail.example.com:8080'],
    [{ HOSTNAME: 'mail.example.com', HTTP_LISTEN: '0.0.0.0:80' }, 'http://mail.example.com'],
    [{ HOSTNAME: 'mail.example.com', HTTP_TLS_LISTEN: '0.0.0.0:443' }, 'https://mail.example.com'],
    [{ HOSTNAME: 'mail.example.com', HTTP_TLS_LISTEN: '0.0.0.0:8443' }, 'https://mail.example.com:8443'],
    [{ HOSTNAME: 'mail.example.com', HTTP_LISTEN: '127.0.0.1:8080' }, 'https://mail.example.com'],
    [{ HOSTNAME: 'mail.example.com', TRUSTED_PROXIES: '10.0.0.0/8' }, 'https://mail.example.com'],
    [{ HOSTNAME: 'mail.example.com', BASE_URL: 'https://api.example.com' }, 'https://api.example.com'],
    [{ HOSTNAME: 'relay.test', BASE_URL: 'http://127.0.0.1:9000' }, 'http://127.0.0.1:9000'],
  ]
  test.each(rows)('%j: %s', (given, baseUrl) => {
    const env = Object.fromEntries(Object.entries(given).map(([name, value]) => [`STERNA_${name}`, value]))
    expect(loadConfig({ env, systemHostname: 'laptop' }).baseUrl).toBe(baseUrl)
  })

  test('the name of the computer need not lead to it, so it alone changes nothing', () => {
    expect(loadConfig({ systemHostname: 'laptop.corp.example.com' }).baseUrl).toBe('http://localhost:8080')
  })

  test.each(['http://localhost:8080', 'http://127.0.0.1:8080', 'http://[::1]:8080'])('%s beside a hostname of the internet', (baseUrl) => {
    const faults = faultsOf({ env: { STERNA_HOSTNAME: 'mail.example.com', STERNA_BASE_URL: baseUrl } })
    expect(faults).toEqual([expect.stringMatching(/^base_url: .*Set base_url \(STERNA_BASE_URL\).* https:\/\/mail\.example\.com/)])
  })
})

describe('faults', () => {
  test.each<[string, Record<string, string>, RegExp]>([
    ['a user without a password', { SMARTHOST: 'a.example', SMARTHOST_USER: 'me' }, /Set the whole login or none/],
    ['a password without a user', { SMARTHOST: 'a.example', SMARTHOST_PASSWORD: 's3cret' }, /Set the whole login or none/],
    [
      'two passwords',
      { SMARTHOST: 'a.example', SMARTHOST_USER: 'me', SMARTHOST_PASSWORD: 's3cret', SMARTHOST_PASSWORD_FILE: '/dev/null' },
      /smarthost_password: it is given at STERNA_DELIVERY_SMARTHOST_PASSWORD and as a file at STERNA_DELIVERY_SMARTHOST_PASSWORD_FILE\./,
    ],
    ['nobody to log in to', { SMARTHOST_USER: 'me', SMARTHOST_PASSWORD: 's3cret' }, /no delivery\.smarthost to log in to/],
    [
      'a file that is not there',
      { SMARTHOST: 'a.example', SMARTHOST_USER: 'me', SMARTHOST_PASSWORD_FILE: '/nowhere' },
      /smarthost_password_file: \/nowhere cannot be read/,
    ],
  ])('of the login to the smarthost: %s', (_, given, expected) => {
    const env = Object.fromEntries(Object.entries(given).map(([name, value]) => [`STERNA_DELIVERY_${name}`, value]))
    const faults = faultsOf({ env }).join('\n')
    expect(faults).toMatch(expected)
    expect(faults).not.toContain('s3cret')
  })

  test('a password that is no text is not shown either', () => {
    const faults = faultsOf({ file: fileOf('delivery:\n  smarthost: a.example\n  smarthost_user: me\n  smarthost_password: 4711') }).join(
      '\n',
    )
    expect(faults).toMatch(/smarthost_password: the value is not text. Put it in quotes/)
    expect(faults).not.toContain('4711')
  })

  test('all are told together, each with its place and the way to put it right', () => {
    const lines = ['hostname: mail.example.com', 'delivery:', '  port: 0', '  give_up_after: 2 days', '  prot: 25']
    const file = fileOf([...lines, 'delivery.port: 25', 'tls: 4'].join('\n'))
    const faults = faultsOf({ file, env: { STERNA_DATADIR: '/x', STERNA_MODE: 'Live', STERNA_PLANS: 'free' } })
    expect(faults).toHaveLength(8)
    expect(faults.join('\n')).toMatch(/sterna\.yml:5: there is no setting delivery\.prot; did you mean delivery\.port\?/)
    expect(faults.join('\n')).toMatch(/sterna\.yml:6: delivery\.port is already set above/)
    expect(faults.join('\n')).toMatch(/sterna\.yml:7: tls is a section\. .*tls\.cert/)
    expect(faults.join('\n')).toMatch(/sterna\.yml:4: delivery\.give_up_after: "2 days" is not a duration\. .*48h/)
    expect(faults.join('\n')).toMatch(/STERNA_DATADIR: .* did you mean STERNA_DATA_DIR\?/)
    expect(faults.join('\n')).toMatch(/STERNA_MODE: mode: "Live" is not one of live, sandbox/)
    expect(faults.join('\n')).toMatch(/STERNA_PLANS: plans: .*free=100,starter=500/)
  })

  const rows: [variable: string, text: string, fault: RegExp][] = [
    ['STERNA_HTTP_LISTEN', '8080', /127\.0\.0\.1:8080/],
    ['STERNA_HTTP_LISTEN', '::1:8080', /\[::\]:8080/],
    ['STERNA_HTTP_LISTEN', '127.0.0.1:65536', /not an address/],
    ['STERNA_DNS_SERVERS', 'ns.example.com:53', /not a name server/],
    ['STERNA_HOSTNAME', 'my_host', /not a host name/],
    ['STERNA_HOSTNAME', '192.0.2.1', /not a host name/],
    ['STERNA_BASE_URL', 'mail.example.com', /https:\/\/mail\.example\.com/],
    ['STERNA_MESSAGE_SIZE_LIMIT', '25', /25MB/],
    ['STERNA_DELIVERY_GIVE_UP_AFTER', '0s', /more than 0/],
    ['STERNA_DELIVERY_RETRY_SCHEDULE', 'none', /at least one/],
    ['STERNA_DELIVERY_ALLOW_PRIVATE_ADDRESSES', 'yes', /neither true nor false/],
    ['STERNA_DELIVERY_THREADS', '1.5', /whole number from 1 to 64/],
    ['STERNA_ACCOUNTS_DEFAULT_PLAN', 'gold', /choose one of free, starter, professional, enterprise/],
    ['STERNA_TLS_CERT', '/nowhere.pem', /belong together/],
    ['STERNA_PLANS', '__proto__=1', /numbers by name/],
    ['STERNA_OPERATOR_EMAIL', 'operator', /not an email address/],
    ['STERNA_OPERATOR_EMAIL', 'a..b@example.com', /not an email address/],
  ]
  test.each(rows)('%s=%s', (variable, text, fault) => {
    expect(faultsOf({ env: { [variable]: text } }).join('\n')).toMatch(fault)
  })

  test('an IPv6 address without quotes is told what it lacks', () => {
    const file = fileOf('hostname: mail.example.com\nhttp:\n  listen: [::]:8080')
    expect(faultsOf({ file }).join('\n')).toMatch(/sterna\.yml:3: .* Put quotes around the address: '\[::\]:8080'\.$/)
  })

  test('unless somebody says otherwise, every port is open to IPv4 and IPv6', () => {
    const { http, submission, returnPath, metrics } = loadConfig({})
    const open = [http.listen, submission.listen, submission.tlsListen, returnPath.listen]
    expect(open.map((places) => places.map(({ host }) => host))).toEqual([['::'], ['::'], ['::'], ['::']])
    expect([...http.tlsListen, ...metrics.listen]).toEqual([])
  })

  test.each(['hostname', 'return_path.domain'])('the operator cannot be reached at %s: that mail comes to this server', (name) => {
    const domain = { [`STERNA_${name.toUpperCase().replace('.', '_')}`]: 'bounce.example.com' }
    expect(faultsOf({ env: { ...domain, STERNA_OPERATOR_EMAIL: 'me@Bounce.example.com' } }).join()).toMatch(/^operator_email: .*would loop/)
    expect(loadConfig({ env: { ...domain, STERNA_OPERATOR_EMAIL: 'me@example.com' } }).operatorEmail).toBe('me@example.com')
  })

  test('a file that is missing, broken or no map', () => {
    expect(faultsOf({ file: join(directory, 'missing.yml') })).toEqual([expect.stringMatching(/^missing\.yml: cannot be read/)])
    expect(faultsOf({ file: fileOf('a: [1\nb: 2') })[0]).toMatch(/^sterna\.yml:\d+: /)
    expect(faultsOf({ file: fileOf('- a') })).toEqual([expect.stringMatching(/not a map of settings/)])
    expect(loadConfig({ file: fileOf('# nothing but a comment\n') })).toEqual(loadConfig({}))
  })

  test('certificate files that cannot be read are told at the start', () => {
    const faults = faultsOf({ env: { STERNA_TLS_CERT: '/nowhere.crt', STERNA_TLS_KEY: '/nowhere.key' } })
    expect(faults).toEqual([expect.stringContaining('/nowhere.crt'), expect.stringContaining('/nowhere.key')])
  })
})

test('STERNA_CONFIG names the file unless the caller does, and an empty one counts as absent', () => {
  const env = { STERNA_CONFIG: fileOf('hostname: from.example') }
  expect(loadConfig({ env }).hostname).toBe('from.example')
  const other = join(directory, 'other.yml')
  writeFileSync(other, 'hostname: other.example')
  expect(loadConfig({ file: other, env }).hostname).toBe('other.example')
  expect(loadConfig({ env: { STERNA_CONFIG: '' }, systemHostname: 'box' }).hostname).toBe('localhost')
  expect(faultsOf({ env: { STERNA_CONFIG: join(directory, 'none.yml') } })).toHaveLength(1)
})

test('what Kubernetes sets beside a service called sterna is not taken for settings', () => {
  const env = { STERNA_SERVICE_HOST: '10.0.0.1', STERNA_PORT: 'tcp://10.0.0.1:80', STERNA_PORT_80_TCP_ADDR: '10.0.0.1' }
  expect(faultsOf({ env })).toEqual([])
})

test('it is known where a setting was given', () => {
  const file = fileOf('hostname: mail.example.com\ndelivery:\n  port: 2525\n')
  const config = loadConfig({ file, env: { STERNA_DELIVERY_PORT: '26' } })
  expect([...config.origins]).toEqual([
    ['hostname', expect.stringMatching(/:1$/)],
    ['delivery.port', 'STERNA_DELIVERY_PORT'],
  ])
  expect([settingValue(config, 'hostname'), settingValue(config, 'delivery.port'), settingValue(config, 'delivery.threads')]).toEqual([
    'mail.example.com',
    26,
    1,
  ])
})

test.each([
  ['mail.example.com', 'mailexamplecom'],
  ['mx1.mail.some-longer-name.example', 'ngernameexample'],
  ['a.io', 'aio00'],
])('who sends is told to Gmail by the name of the server: %s', (hostname, wanted) => {
  expect(loadConfig({ env: { STERNA_HOSTNAME: hostname } }).delivery.feedbackSender).toBe(wanted)
  expect(() => loadConfig({ env: { STERNA_HOSTNAME: hostname, STERNA_DELIVERY_FEEDBACK_SENDER: 'a:b:c' } })).toThrow('5 to 15 letters')
})
