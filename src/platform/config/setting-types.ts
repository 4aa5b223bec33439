import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { msOf } from './duration.ts'

/** A type of setting: how to parse it from YAML or an environment variable, and what the documentation calls it. */
export interface SettingType<T> {
  readonly title: string
  /** @throws SettingFault saying what it expects */
  readonly parse: (given: unknown) => T
  /** A secret can be given as a file too: by the setting's name with `_file`. */
  readonly isSecret?: true
}

/** A value that a setting does not accept; the message says what it accepts. */
export class SettingFault extends Error {}

/** Where to listen or connect. */
export interface HostPort {
  /** A host name or an IP address; IPv6 without brackets. */
  host: string
  port: number
}

const refuse = (given: unknown, expected: string): never => {
  throw new SettingFault(`${JSON.stringify(given) ?? String(given)} ${expected}`)
}

export const text: SettingType<string> = {
  title: 'text',
  parse: (given) => (typeof given === 'string' && given !== '' ? given : refuse(given, 'is not text.')),
}

/** A secret: JSON, and so logs and API responses, show `(not shown)`. */
export class Secret {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  reveal(): string {
    return this.#text
  }

  toJSON(): string {
    return '(not shown)'
  }
}

export const secret: SettingType<Secret> = {
  title: 'secret text',
  isSecret: true,
  parse(given) {
    if (given instanceof Secret) return given
    if (typeof given === 'string' && given !== '') return new Secret(given)
    // Not `refuse`, which would show the value.
    throw new SettingFault('the value is not text. Put it in quotes.')
  },
}

/** Written relative to the directory in which Sterna starts; the value is absolute. */
export const path: SettingType<string> = {
  title: 'path',
  parse: (given) => (typeof given === 'string' && given !== '' ? resolve(given) : refuse(given, 'is not a path.')),
}

export const flag: SettingType<boolean> = {
  title: 'true or false',
  parse(given) {
    const word = String(given).toLowerCase()
    if (word === 'true' || word === 'false') return word === 'true'
    return refuse(given, 'is neither true nor false.')
  },
}

export const choice = <const T extends string>(...choices: T[]): SettingType<T> => ({
  title: `one of ${choices.join(', ')}`,
  parse: (given) => choices.find((word) => word === given) ?? refuse(given, `is not one of ${choices.join(', ')}.`),
})

export const whole = (min: number, max: number): SettingType<number> => ({
  title: 'whole number',
  parse(given) {
    const value = typeof given === 'string' && /^\d+$/.test(given) ? Number(given) : given
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value
    return refuse(given, `is not a whole number from ${min} to ${max}.`)
  },
})

/** A length of time; the value is in ms. */
export const duration: SettingType<number> = {
  title: 'duration',
  parse: (given) => msOf(String(given)) ?? refuse(given, 'is not a duration. Write a number and a unit, like 90s, 15m, 48h or 7d.'),
}

/** A duration above 0. */
export const positiveDuration: SettingType<number> = {
  title: 'duration',
  parse(given) {
    const ms = duration.parse(given)
    return ms > 0 ? ms : refuse(given, 'is too short. It must be more than 0.')
  },
}

const sizeUnits = { B: 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3 }

/** A number of bytes. KB, MB and GB are powers of 1024, as usual for mail. */
export const size: SettingType<number> = {
  title: 'size',
  parse(given) {
    const [, number, unit] = /^(\d{1,9}(?:\.\d{1,3})?) ?(B|KB|MB|GB)$/i.exec(String(given)) ?? []
    if (number === undefined) return refuse(given, 'is not a size. Write a number and a unit, like 64KB, 25MB or 1GB.')
    return Math.round(Number(number) * sizeUnits[unit?.toUpperCase() as keyof typeof sizeUnits])
  },
}

/** `name` in lower case. */
export const isHostname = (name: string): boolean =>
  name.length <= 253 && name.split('.').every((label) => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(label))

/** In lower case, without a trailing dot. */
export const hostname: SettingType<string> = {
  title: 'host name',
  parse(given) {
    const name = String(given).toLowerCase().replace(/\.$/, '')
    if (isIP(name) === 0 && isHostname(name)) return name
    return refuse(given, 'is not a host name. Write it like mail.example.com (non-ASCII names in their xn-- form).')
  },
}

/** Gmail accepts 5 to 15 characters; a colon would end the part. */
export const feedbackSender: SettingType<string> = {
  title: 'text',
  parse: (given) =>
    /^[A-Za-z0-9._-]{5,15}$/.test(String(given))
      ? String(given)
      : refuse(given, 'is not 5 to 15 letters, digits, dots, hyphens and underscores.'),
}

/** `local@domain`, the domain a full name in lower case. */
export const emailAddress: SettingType<string> = {
  title: 'email address',
  parse(given) {
    const [, localPart = '', name = ''] = /^([a-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64})@([^@]+)$/i.exec(String(given)) ?? []
    const domain = name.toLowerCase()
    const isDotAtom = !localPart.split('.').includes('')
    if (isDotAtom && domain.includes('.') && isIP(domain) === 0 && isHostname(domain)) return `${localPart}@${domain}`
    return refuse(given, 'is not an email address. Write it like postmaster@example.com.')
  },
}

/** An absolute http or https URL; the value has no trailing `/`. */
export const webAddress: SettingType<string> = {
  title: 'URL',
  parse(given) {
    const url = URL.parse(String(given))
    const hasHost = /^https?:\/\/[^/\\?#]/i.test(String(given).trim())
    if (url && hasHost && !url.search && !url.hash && !url.username) return url.href.replace(/\/+$/, '')
    return refuse(given, 'is not an http or https URL. Write it like https://mail.example.com')
  },
}

const splitHostPort = (given: unknown, defaultPort: number | null): HostPort | undefined => {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:\s]+))(?::(\d{1,5}))?$/.exec(String(given)) ?? []
  const host = bracketed ?? plain
  const port = digits === undefined ? defaultPort : Number(digits)
  if (host === undefined || port === null || port > 65_535) return undefined
  if (bracketed !== undefined && isIP(bracketed) !== 6) return undefined
  return isIP(host) > 0 || isHostname(host.toLowerCase()) ? { host, port } : undefined
}

/** Port 0 picks any free port. */
export const listenAddress: SettingType<HostPort> = {
  title: 'address:port',
  parse: (given) =>
    splitHostPort(given, null) ?? refuse(given, 'is not an address to listen on. Write it like [::]:8080 or 127.0.0.1:8080.'),
}

/** The value is `ip:port`; IPv6 in brackets. */
export const nameServer: SettingType<string> = {
  title: 'address:port',
  parse(given) {
    // An IPv6 address without brackets is unambiguous if no port follows.
    const address = isIP(String(given)) === 6 ? { host: String(given), port: 53 } : splitHostPort(given, 53)
    if (!address || isIP(address.host) === 0 || address.port === 0) {
      return refuse(given, 'is not a name server. Write it like 127.0.0.1:53 or [::1]:53.')
    }
    return isIP(address.host) === 6 ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`
  },
}

export const hostPort = (defaultPort: number): SettingType<HostPort> => ({
  title: 'host:port',
  parse(given) {
    const address = splitHostPort(given, defaultPort)
    if (address && address.port > 0) return address
    return refuse(given, `is not a host and port. Write it like mail.example.com:${defaultPort}.`)
  },
})

/** `null` means none; in the environment write `none`. */
export const optional = <T>(type: SettingType<T>): SettingType<T | null> => ({
  title: `${type.title}, or none`,
  parse: (given) => (given === null || given === 'none' ? null : type.parse(given)),
  ...(type.isSecret && { isSecret: true }),
})

/** A YAML list, or comma-separated text; `none` is the empty list. */
export const list = <T>(type: SettingType<T>): SettingType<T[]> => ({
  title: `list of: ${type.title}`,
  parse(given) {
    if (given === null || given === 'none') return []
    const items = typeof given === 'string' ? given.split(',').map((item) => item.trim()) : [given].flat()
    return items.map((item) => type.parse(item))
  },
})

/** Yes, no, or networks in CIDR notation. */
export const flagOrNetworks: SettingType<boolean | string[]> = {
  title: 'true, false, or a list of networks',
  parse(given) {
    if (given === true || given === false || given === 'true' || given === 'false') return flag.parse(given)
    return list(network).parse(given)
  },
}

/** In CIDR notation. */
export const network: SettingType<string> = {
  title: 'network',
  parse(given) {
    const [address = '', bits = '', ...more] = String(given).split('/')
    const width = ({ 4: 32, 6: 128 } as Record<number, number>)[isIP(address)]
    if (width !== undefined && /^\d{1,3}$/.test(bits) && Number(bits) <= width && more.length === 0) return String(given)
    return refuse(given, 'is not a network. Write it like 10.0.0.0/8 or fd00::/8.')
  },
}

/** A list with at least one entry. */
export const filledList = <T>(type: SettingType<T>): SettingType<T[]> => {
  const maybeEmpty = list(type)
  return {
    title: maybeEmpty.title,
    parse(given) {
      const values = maybeEmpty.parse(given)
      return values.length > 0 ? values : refuse(given, 'is an empty list. Write at least one entry.')
    },
  }
}

/** A YAML map, or in the environment `name=value,name=value`; its entries are added to `standard` or override it. */
export const numbersByName = (standard: Record<string, number>, number: SettingType<number>): SettingType<Record<string, number>> => ({
  title: `${number.title} by name`,
  parse(given) {
    const entries = typeof given === 'string' ? textEntries(given) : mapEntries(given)
    const values = { ...standard }
    for (const [name, value, ...more] of entries) {
      if (typeof name !== 'string' || !/^[a-z0-9][a-z0-9_-]{0,49}$/i.test(name) || value === undefined || more.length > 0) {
        return refuse(given, 'is not a list of numbers by name. Write it like free=100,starter=500, or as a YAML map.')
      }
      values[name] = number.parse(value)
    }
    return values
  },
})

/** How many backups to keep, by what they are kept for. */
export const keptBackups: SettingType<Record<string, number>> = {
  title: 'whole numbers for last, daily, weekly and monthly',
  parse(given) {
    const keep = numbersByName({}, whole(0, 1000)).parse(given)
    const unknown = Object.keys(keep).find((name) => !['last', 'daily', 'weekly', 'monthly'].includes(name))
    return unknown === undefined ? keep : refuse(given, `has an unknown name, ${unknown}. Use last, daily, weekly and monthly.`)
  },
}

/** A directory, absolute, or `s3://bucket/prefix`. */
export const backupPlace: SettingType<string> = {
  title: 'path, or s3://bucket/prefix',
  parse: (given) => (String(given).startsWith('s3://') ? text.parse(given) : path.parse(given)),
}

/** Five fields. */
export const cronExpression: SettingType<string> = {
  title: 'cron expression',
  parse(given) {
    const fields = String(given).trim().split(/\s+/)
    const most = [59, 23, 31, 12, 7]
    const isField = (field: string, place: number): boolean =>
      /^(?:\*|\d+(?:-\d+)?)(?:\/\d+)?(?:,(?:\*|\d+(?:-\d+)?)(?:\/\d+)?)*$/.test(field) &&
      (field.match(/\d+/g) ?? []).every((number) => Number(number) <= (most[place] as number))
    if (fields.length === 5 && fields.every(isField)) return fields.join(' ')
    return refuse(given, 'is not a cron expression of five fields. Write it like "15 3 * * *": a quarter past three every day.')
  },
}

/** Of age (age-encryption.org/v1): X25519. */
export const ageRecipient: SettingType<string> = {
  title: 'age recipient',
  parse: (given) =>
    /^age1[02-9ac-hj-np-z]{58}$/.test(String(given))
      ? String(given)
      : refuse(given, 'is not an age recipient. It is like age1… with 62 characters.'),
}

const textEntries = (given: string): string[][] => given.split(',').map((entry) => entry.split('=').map((part) => part.trim()))

const mapEntries = (given: unknown): unknown[][] =>
  typeof given === 'object' && given !== null && !Array.isArray(given) ? Object.entries(given) : [[given]]
