#!/bin/bash
# Makes a machine of its own in fresh namespaces, with the agent's executable $1, and the server's $3 if given, in its /usr/local/bin, and becomes its systemd.
# Whatever it changes is seen by it alone and ends with it: the kernel's settings are read-only, and nothing is done at its start.
set -eu
disk=$2
mount --make-rprivate /
mount -t tmpfs none "$disk"
for place in etc var usr/local; do
  mkdir -p "$disk/upper/$place" "$disk/work/$place"
  mount -t overlay overlay -o "lowerdir=/$place,upperdir=$disk/upper/$place,workdir=$disk/work/$place" "/$place"
done
install -m 755 "$1" /usr/local/bin/certitude-agent
[ -z "${3-}" ] || install -m 755 "$3" /usr/local/bin/certitude
mkdir -p "$disk"/dev/{pts,shm,mqueue,hugepages}
for name in null zero full random urandom tty; do
  touch "$disk/dev/$name"
  mount --bind "/dev/$name" "$disk/dev/$name"
done
ln -s /proc/self/fd "$disk/dev/fd"
ln -s pts/ptmx "$disk/dev/ptmx"
mount --rbind "$disk/dev" /dev
mount -t devpts devpts /dev/pts -o newinstance,ptmxmode=0666
umount -R /sys/fs/cgroup
mount --bind /sys /sys
mount -o remount,ro,bind /sys
mount -t cgroup2 none /sys/fs/cgroup
mount --bind /proc/sys /proc/sys
mount -o remount,ro,bind /proc/sys
for place in /var/tmp /run /srv; do mount -t tmpfs none "$place"; done

rm -rf /etc/systemd/system/* /etc/tmpfiles.d/*
: >/etc/fstab
# systemd-tmpfiles empties /tmp at the start of a machine, systemd-sysctl sets the kernel: nothing but the journal begins here.
for unit in /lib/systemd/system/{sysinit,sockets,local-fs,timers,multi-user}.target.wants/*; do
  case $unit in *journald*) continue ;; esac
  ln -sf /dev/null "/etc/systemd/system/${unit##*/}"
done
printf '[Unit]\nDescription=Nothing\n' >/etc/systemd/system/nothing.target
mount -t tmpfs none /tmp
[ -z "$(ls -A /tmp)" ] # what follows must not see the files of the machine around it
export container=certitude
exec /lib/systemd/systemd --system --unit=nothing.target --log-target=journal --show-status=false
