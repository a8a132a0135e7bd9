#!/bin/sh
# Starts Statelet with the Node beside it, wherever a link to this file stands.
export PATH="${PATH:-/usr/sbin:/usr/bin:/sbin:/bin}"
self=$0
case $self in
*/*) ;;
*) self=./$self ;;
esac
while [ -h "$self" ]; do
  target=$(PATH=$PATH:/usr/bin:/bin && readlink -- "$self") || exit 1
  case $target in
  /*) self=$target ;;
  *) self=${self%/*}/$target ;;
  esac
done
root=$(CDPATH='' && cd -P -- "${self%/*}/.." && pwd -P) || exit 1
# The agent looks at the name by which it is called.
case ${0##*/} in
kubelet) entry=node/kubelet ;;
*) entry=bin/statelet.js ;;
esac
exec "$root/node/node" @FLAGS@ "$root/$entry" "$@"
