/** The script of the shell that makes the mounts of a container, in a mount namespace of its own. */
import type { MountStep } from './mount-plan.ts';

/**
 * Steps come as words, so that no path is ever part of the script. `$1` is an empty folder on which a new folder is put together.
 * In a volume, which a container may be changing, it goes down name by name: it makes and mounts in the folder where it is, once it has seen
 * that this folder is in the volume.
 */
export const MOUNT_SCRIPT = `
set -efu
umask 022
staging=$1
newline='
'
shift
mnt() { mount --no-canonicalize --no-mtab "$@"; }
fail() { echo "$1" >&2; exit 1; }
step_into() {
  cd -P -- "./$2"
  [ "$(pwd -P)" = "$1/$2" ] || fail "$1/$2 leads out of the volume"
}
inside() {
  rest=$3
  here=$(cd -P -- "$2" && pwd -P)
  cd -P -- "$here"
  while name=\${rest%%/*} && [ "$name" != "$rest" ]; do
    [ -e "./$name" ] || mkdir -- "./$name"
    step_into "$here" "$name"
    here=$here/$name
    rest=\${rest#*/}
  done
  [ ! -L "./$name" ] || fail "$here/$name is a link"
  [ -e "./$name" ] || if [ "$1" = folder ]; then mkdir -- "./$name"; else (set -C; : >"./$name"); fi
}
while [ $# -gt 0 ]; do
  case $1 in
    begin) binds=; mnt -t tmpfs -o "$2" statelet "$staging"; mnt --make-unbindable "$staging"; shift 2 ;;
    link) ln -s -- "$3" "$staging/$2"; shift 3 ;;
    keep)
      if [ -d "$2" ]; then mkdir -- "$staging/$3"; binds=$binds$4$newline
      elif [ -e "$2" ]; then : >"$staging/$3"; binds=$binds$4$newline; fi
      shift 4 ;;
    binds)
      if [ -n "$binds" ]; then
        cd "$staging"
        printf %s "$binds" >.statelet-binds
        mnt -a -T .statelet-binds
        rm .statelet-binds
        cd /
      fi
      shift ;;
    folder) mkdir -p -- "$staging/$2"; shift 2 ;;
    file) : >"$staging/$2"; shift 2 ;;
    root)
      mkdir "$staging/.statelet-old"
      cd "$staging"
      pivot_root . .statelet-old
      cd /
      umount --no-mtab -l /.statelet-old
      rmdir /.statelet-old
      shift ;;
    end) mnt --move "$staging" "$2"; shift 2 ;;
    bind)
      mnt --rbind "--make-$2" "$4" "$5"
      [ "$3" = rw ] || mnt -o "remount,bind,$3" "$5"
      shift 5 ;;
    inside)
      inside "$4" "$6" "$7"
      mnt --rbind "--make-$2" "$5" "./$name"
      [ "$3" = rw ] || mnt -o "remount,bind,$3" "./$name"
      cd /
      shift 7 ;;
    *) fail "unknown step $1" ;;
  esac
done
echo done
read -r _ || :
`;

export function wordsOf(steps: readonly MountStep[]): readonly string[] {
  return steps.flat();
}
