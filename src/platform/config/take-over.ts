import { isDeepStrictEqual } from 'node:util'
import { Secret } from './setting-types.ts'
import { camelCase, reloadedSettings, settingNames, settingValue, type Config, type SettingName } from './settings.ts'

/** Settings that differ between two configurations. */
export interface ConfigChanges {
  /** Now in force. */
  reloaded: SettingName[]
  /** In force after a restart. */
  needRestart: SettingName[]
}

/** Changes a configuration in place to what another one says, in the settings that may change while the server runs. */
export function takeOver(config: Config, next: Config): ConfigChanges {
  const changed = settingNames.filter((name) => !isSame(settingValue(config, name), settingValue(next, name)))
  const reloaded = changed.filter((name) => reloadedSettings.has(name))
  for (const name of reloaded) assign(config, name, settingValue(next, name))
  const origins = config.origins as Map<SettingName, string>
  for (const name of reloadedSettings) {
    const place = next.origins.get(name)
    if (place === undefined) origins.delete(name)
    else origins.set(name, place)
  }
  return { reloaded, needRestart: changed.filter((name) => !reloadedSettings.has(name)) }
}

function assign(config: Config, name: SettingName, value: unknown): void {
  const [head = '', tail] = name.split('.').map(camelCase)
  const all = config as unknown as Record<string, unknown>
  if (tail === undefined) all[head] = value
  else (all[head] as Record<string, unknown>)[tail] = value
}

const isSame = (one: unknown, other: unknown): boolean =>
  one instanceof Secret && other instanceof Secret ? one.reveal() === other.reveal() : isDeepStrictEqual(one, other)
