import { accessSync, constants, readFileSync } from 'node:fs'
import { hostname as computerName } from 'node:os'
import { SternaError } from '../errors.ts'
import { faultOfBaseUrl } from './base-url.ts'
import { givenNames, readConfigurationFile, type Given } from './configuration-file.ts'
import { nearestName } from './nearest-name.ts'
import { faultOfOauth } from './oauth-settings.ts'
import { faultOfReportsKey, type ReportService } from './report-services.ts'
import { path, Secret, SettingFault } from './setting-types.ts'
import {
  camelCase,
  environmentNameOf,
  secretFileName,
  secretSettings,
  settingNames,
  settings,
  type Config,
  type Setting,
  type SettingName,
} from './settings.ts'
import { reasonOf } from '../plain-reason.ts'

export interface ConfigSources {
  /** Path of a YAML or JSON file; default: that of the variable STERNA_CONFIG. */
  file?: string | undefined
  /** Its `STERNA_…` variables override the file; an empty one counts as absent. */
  env?: Record<string, string | undefined>
  systemHostname?: string
}

type Values = Map<SettingName, unknown>

/**
 * Loads the configuration: the environment overrides the file, and the file overrides the defaults.
 * @throws SternaError `configuration` with all faults at once, one per line: where it is, what it is, and how to fix it
 */
export function loadConfig({ file: named, env = {}, systemHostname = computerName() }: ConfigSources): Config {
  const faults: string[] = []
  const file = named ?? (env[fileVariable] || undefined)
  const fromFile = file === undefined ? new Map<string, Given>() : readConfigurationFile(file, faults)
  const fromEnvironment = readEnvironment(env, faults)
  const values: Values = new Map()
  const origins = new Map<SettingName, string>()
  for (const name of settingNames) {
    // Checks both, so that removing the variable does not reveal a fault in the file.
    const given = [fromEnvironment.get(name), fromFile.get(name)].filter((source) => source !== undefined)
    if (secretSettings.has(name)) addSecretFile(name, given, { sources: [fromEnvironment, fromFile], faults })
    const parsed = given.map((source) => parseGiven(name, source, faults))
    if (given[0]) origins.set(name, given[0].place)
    values.set(name, parsed.length > 0 ? parsed[0] : defaultOf(name, { systemHostname, values, origins }))
  }
  if (faults.length === 0) checkTogether(values, origins, faults)
  if (faults.length > 0) {
    const title = faults.length === 1 ? 'The configuration has an error:' : `The configuration has ${faults.length} errors:`
    throw new SternaError('configuration', [title, ...faults.map((fault) => `  ${fault}`)].join('\n'))
  }
  return assemble(values, origins)
}

/** Names the configuration file. */
const fileVariable = 'STERNA_CONFIG'
/** Says how commands are written where this server is installed. */
export const commandVariable = 'STERNA_COMMAND'
/** Kubernetes sets these in every container when a service is called "sterna". */
const setByKubernetes = /^STERNA_(?:PORT|SERVICE_HOST|SERVICE_PORT)(?:_|$)/

function readEnvironment(env: Record<string, string | undefined>, faults: string[]): Map<string, Given> {
  const nameOf = new Map(Array.from(givenNames, (name) => [environmentNameOf(name), name]))
  const given = new Map<string, Given>()
  for (const [variable, value] of Object.entries(env)) {
    if (!variable.startsWith('STERNA_') || variable === fileVariable || variable === commandVariable || setByKubernetes.test(variable))
      continue
    const name = nameOf.get(variable)
    if (name === undefined) {
      const near = nearestName(variable, [...nameOf.keys()])
      const hint = near ? `; did you mean ${near}?` : '. docs/settings.md lists them all.'
      faults.push(`${variable}: there is no such setting${hint}`)
    } else if (value) {
      given.set(name, { value, place: variable })
    }
  }
  return given
}

/** Adds the content of the file that a secret is given as, if it is. Docker and Kubernetes hand secrets over as files. */
function addSecretFile(
  name: SettingName,
  given: Given[],
  { sources, faults }: { sources: ReadonlyMap<string, Given>[]; faults: string[] },
): void {
  const [file] = sources.flatMap((source) => source.get(secretFileName(name)) ?? [])
  if (!file || file.value === null || file.value === 'none') return
  if (given[0]) {
    faults.push(`${name}: it is given at ${given[0].place} and as a file at ${file.place}. Remove one of the two.`)
    return
  }
  const fault = (message: string): void => void faults.push(`${file.place}: ${secretFileName(name)}: ${message}`)
  try {
    // Editors and echo(1) end the last line.
    const text = readFileSync(path.parse(file.value), 'utf8').replace(/\r?\n$/, '')
    if (text === '') fault(`${String(file.value)} is empty.`)
    else given.push({ value: new Secret(text), place: file.place })
  } catch (error) {
    fault(error instanceof SettingFault ? error.message : `${String(file.value)} cannot be read (${reasonOf(error)}).`)
  }
}

function parseGiven(name: SettingName, given: Given, faults: string[]): unknown {
  try {
    return settings[name].type.parse(given.value)
  } catch (error) {
    if (!(error instanceof SettingFault)) throw error
    faults.push(`${given.place}: ${name}: ${error.message}`)
    return undefined
  }
}

/** What is known when a default is computed. */
interface Known {
  systemHostname: string
  values: Values
  origins: Config['origins']
}

function defaultOf(name: SettingName, { systemHostname, values, origins }: Known): unknown {
  const { type, default: standard }: Setting<unknown> = settings[name]
  if (typeof standard !== 'function') return type.parse(standard)
  return type.parse(
    standard({
      systemHostname,
      valueOf: (known) => values.get(known as SettingName),
      isSet: (known) => origins.has(known as SettingName),
    }),
  )
}

/** Checks that need several settings. They run once each setting is valid by itself. */
function checkTogether(values: Values, origins: Config['origins'], faults: string[]): void {
  const [cert, key] = [values.get('tls.cert'), values.get('tls.key')]
  if ((cert === null) !== (key === null)) faults.push('tls.cert and tls.key belong together: set both or neither.')
  for (const name of ['tls.cert', 'tls.key', 'delivery.smarthost_ca', 'acme.ca'] as const) {
    const file = values.get(name)
    if (typeof file !== 'string') continue
    try {
      accessSync(file, constants.R_OK)
    } catch (error) {
      faults.push(`${name}: ${file} cannot be read (${reasonOf(error)}).`)
    }
  }
  checkSmarthost(values, faults)
  checkReports(values, faults)
  checkAcme(values, faults)
  if (values.get('backup.schedule') !== null && values.get('backup.target') === null) {
    faults.push('backup.schedule: there is no backup.target to make backups at. Set it too.')
  }
  if (values.get('backup.continuous') === true && values.get('backup.target') === null) {
    faults.push('backup.continuous: there is no backup.target to copy to. Set it too.')
  }
  const faultOfBase = faultOfBaseUrl(String(values.get('base_url')), String(values.get('hostname')))
  if (faultOfBase !== undefined && origins.has('hostname')) faults.push(faultOfBase)
  const plans = Object.keys(values.get('plans') as Record<string, number>)
  const defaultPlan = String(values.get('accounts.default_plan'))
  if (!plans.includes(defaultPlan)) {
    faults.push(`accounts.default_plan: there is no plan ${defaultPlan}; choose one of ${plans.join(', ')} or add it to plans.`)
  }
  for (const name of ['quotas.daily', 'quotas.monthly'] as const) {
    const unknown = Object.keys(values.get(name) as Record<string, number>).find((plan) => !plans.includes(plan))
    if (unknown !== undefined) faults.push(`${name}: there is no plan ${unknown}; the plans are ${plans.join(', ')}.`)
  }
  const operatorDomain = String(values.get('operator_email')).split('@')[1]
  for (const name of ['hostname', 'return_path.domain'] as const) {
    if (operatorDomain !== values.get(name)) continue
    faults.push(`operator_email: mail for ${operatorDomain} (${name}) comes to this server and would loop. Use a mailbox elsewhere.`)
    break
  }
}

function checkAcme(values: Values, faults: string[]): void {
  if (!String(values.get('acme.directory')).startsWith('https:')) faults.push('acme.directory: it must be an https URL.')
  if ((values.get('acme.eab_key_id') === null) !== (values.get('acme.eab_key') === null))
    faults.push('acme.eab_key_id and acme.eab_key belong together: set both or neither.')
  const hostname = String(values.get('hostname'))
  if (values.get('acme.enabled') === true && !hostname.includes('.'))
    faults.push(`acme.enabled: no authority issues a certificate for ${hostname}. Set hostname to the full name of this server.`)
}

/** Reports need a smarthost that sends them, and what proves that they are its own. */
function checkReports(values: Values, faults: string[]): void {
  const service = values.get('delivery.smarthost_reports') as ReportService | null
  const key = values.get('delivery.smarthost_reports_key') as Secret | null
  if (service === null) {
    if (key !== null) faults.push('delivery.smarthost_reports_key: it says nothing without delivery.smarthost_reports. Set it too.')
    return
  }
  if (values.get('delivery.smarthost') === null)
    return void faults.push('delivery.smarthost_reports: there is no delivery.smarthost that could report. Set it too.')
  if (key === null)
    return void faults.push(
      'delivery.smarthost_reports: anybody could write reports. Set delivery.smarthost_reports_key (or its file) too.',
    )
  const fault = faultOfReportsKey(service, key.reveal())
  if (fault !== null) faults.push(`delivery.smarthost_reports_key: ${fault}`)
}

/** A login needs a smarthost, and all of its settings. */
function checkSmarthost(values: Values, faults: string[]): void {
  const faultOfLogin = faultOfOauth((name) => values.get(name as SettingName))
  if (faultOfLogin !== null) return void faults.push(faultOfLogin)
  if (values.get('delivery.smarthost_sender') !== null && values.get('delivery.smarthost') === null)
    return void faults.push('delivery.smarthost_sender: there is no delivery.smarthost that it is for. Set it too.')
  if (values.get('delivery.smarthost_oauth') !== null) return
  const given = (['delivery.smarthost_user', 'delivery.smarthost_password'] as const).filter((name) => values.get(name) !== null)
  if (given.length === 0) return
  if (values.get('delivery.smarthost') === null) faults.push(`${given[0]}: there is no delivery.smarthost to log in to. Set it too.`)
  else if (given.length === 1) {
    faults.push(
      `${given[0]}: a login needs delivery.smarthost_user and delivery.smarthost_password (or its file). Set the whole login or none of it.`,
    )
  }
}

function assemble(values: Values, origins: Config['origins']): Config {
  // Not a setting: two configurations are equal wherever their values came from.
  const config: Record<string, unknown> = Object.defineProperty({}, 'origins', { value: origins })
  for (const [name, value] of values) {
    const [head = '', tail] = name.split('.').map(camelCase)
    if (tail === undefined) config[head] = value
    else config[head] = { ...(config[head] as object | undefined), [tail]: value }
  }
  return config as Config
}
