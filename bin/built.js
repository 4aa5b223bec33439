// What `npm run build` made of the server, as long as the sources are those it was made from.
import { readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'

const root = new URL('../', import.meta.url)

/** The last build, if it was made from just these sources and packages, by their sizes and times; otherwise null. Looking costs some 5 ms. */
function findBuild() {
  try {
    const build = JSON.parse(readFileSync(new URL('dist/server/current.json', root), 'utf8'))
    const isSame = ([name, size, changedAt]) => {
      const found = statSync(new URL(name, root))
      return found.size === size && found.mtimeMs === changedAt
    }
    return build.sources.every(isSame) ? build : null
  } catch {
    // There is no build, or a source is gone.
    return null
  }
}

const build = findBuild()

export const isBuilt = build !== null

/** A module of the server, `src/…/x.ts`: as it was built, or from its source. */
export const load = (module) =>
  build === null
    ? import(new URL(module, root))
    : createRequire(root)(`./dist/server/${build.directory}/${module.replace(/^.*\/|\.ts$/g, '')}.cjs`)
